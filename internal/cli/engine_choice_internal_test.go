package cli

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// probed is an engine without sandboxes that says what a test wants.
type probed struct {
	sandbox.Engine
	info   sandbox.Info
	err    error
	probes *[]string // the names of those that were asked
}

func (e probed) Name() string { return e.info.Engine }

func (e probed) Probe(context.Context) (sandbox.Info, error) {
	*e.probes = append(*e.probes, runtimeName(e.info.Engine, e.info.Runtime))
	if e.err != nil {
		return sandbox.Info{Engine: e.info.Engine, Runtime: e.info.Runtime}, e.err
	}
	return e.info, nil
}

// machine makes the engines of a test from words: "docker/runsc" has that runtime,
// "-docker" cannot run, "host!" isolates nothing, "docker+" has images.
func machine(words string) (list []sandbox.Engine, probes *[]string) {
	probes = &[]string{}
	for word := range strings.FieldsSeq(words) {
		name, down := strings.CutPrefix(word, "-")
		name, none := strings.CutSuffix(name, "!")
		name, images := strings.CutSuffix(name, "+")
		name, runtime, _ := strings.Cut(name, "/")
		e := probed{Engine: sandboxtest.NewMemory(), probes: probes, info: sandbox.Info{
			Engine: name, Version: "1", Boundary: "a wall", Runtime: runtime, Isolated: !none, Image: images,
			Networks: []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate}, ProtectedPaths: true,
			LimitMemory: true, LimitCPUs: true, FractionalCPUs: images, LimitProcesses: true, LimitDisk: true,
		}}
		if runtime != "" {
			e.info.Runtimes = []string{"runc", "runsc"}
		}
		if down {
			e.err = &sandbox.UnavailableError{Engine: name, Reason: "it is not installed", Fix: "install " + name}
		}
		list = append(list, e)
	}
	return list, probes
}

func wanting(image string, cpus float64) *sandbox.Spec {
	return &sandbox.Spec{
		Image: image, Limits: sandbox.Limits{Memory: 1, CPUs: cpus}, Network: sandbox.NetworkGate,
		Gate: func(net.Listener) error { return nil }, Mounts: []sandbox.Mount{{Protect: []string{"x"}}},
	}
}

// TestAutoEngine: the strongest boundary that works and can do what is asked, or the
// fastest; no more is asked than needed.
func TestAutoEngine(t *testing.T) {
	const all = "bubblewrap podman/runc docker/runc docker/runsc gvisor docker-sandbox"
	for name, tt := range map[string]struct {
		engines string
		wish    engineWish
		want    string // with its runtime
		passed  string
		probes  string
	}{
		"the strongest": {engines: all, want: "docker-sandbox", probes: "docker-sandbox"},
		"the next that works": {engines: "bubblewrap gvisor docker/runc -docker-sandbox", want: "gvisor",
			passed: "docker-sandbox: it is not installed", probes: "docker-sandbox,gvisor"},
		"docker with its own kernel over docker": {engines: "bubblewrap podman/runc docker/runc docker/runsc -gvisor", want: "docker with runsc",
			passed: "gvisor: it is not installed", probes: "gvisor,docker with runc,docker with runsc"},
		"and over podman with one":           {engines: "podman/runsc docker/runsc", want: "docker with runsc", probes: "docker with runsc"},
		"podman with one over docker":        {engines: "docker/runc podman/kata", want: "podman with kata", probes: "docker with runc,podman with kata"},
		"docker over podman":                 {engines: "bubblewrap podman/runc docker/runc", want: "docker with runc", probes: "docker with runc,podman with runc"},
		"podman over bubblewrap":             {engines: "bubblewrap podman/crun", want: "podman with crun", probes: "podman with crun"},
		"what is unknown comes last":         {engines: "other bubblewrap", want: "bubblewrap", probes: "bubblewrap"},
		"one that isolates nothing is none":  {engines: "gvisor! bubblewrap", want: "bubblewrap", passed: "gvisor: it isolates nothing", probes: "gvisor,bubblewrap"},
		"the fastest":                        {engines: all, wish: engineWish{prefer: config.PreferSpeed}, want: "bubblewrap", probes: "bubblewrap"},
		"the fastest of containers":          {engines: "gvisor docker/runsc docker/runc", wish: engineWish{prefer: config.PreferSpeed}, want: "docker with runc", probes: "docker with runsc,docker with runc"},
		"the fastest that works":             {engines: "-bubblewrap gvisor", wish: engineWish{prefer: config.PreferSpeed}, want: "gvisor", passed: "bubblewrap: it is not installed", probes: "bubblewrap,gvisor"},
		"the fastest isolates, too":          {engines: "bubblewrap! gvisor", wish: engineWish{prefer: config.PreferSpeed}, want: "gvisor", passed: "bubblewrap: it isolates nothing", probes: "bubblewrap,gvisor"},
		"an image needs one that has images": {engines: "gvisor docker+", wish: engineWish{spec: wanting("img", 0)}, want: "docker", passed: "gvisor: the engine gvisor has no images", probes: "gvisor,docker"},
		"a limit needs one that keeps it":    {engines: "gvisor docker+", wish: engineWish{spec: wanting("", 0.5)}, want: "docker", passed: "gvisor: it cannot limit CPUs to a fraction", probes: "gvisor,docker"},
		"a runtime needs one that has it": {engines: "gvisor docker/runc docker/runsc", wish: engineWish{runtime: "runsc"}, want: "docker with runsc",
			passed: "gvisor: it has no OCI runtime runsc|docker with runc: it has no OCI runtime runsc", probes: "gvisor,docker with runc,docker with runsc"},
		"the same reason is told once": {engines: "-docker -docker bubblewrap", want: "bubblewrap", passed: "docker: it is not installed", probes: "docker,docker,bubblewrap"},
	} {
		t.Run(name, func(t *testing.T) {
			list, probes := machine(tt.engines)
			before := engineNames(list)
			tt.wish.name = config.EngineAuto
			got, err := chooseEngine(t.Context(), list, tt.wish)
			if err != nil {
				t.Fatal(err)
			}
			if chosen := runtimeName(got.engine.Name(), got.info.Runtime); chosen != tt.want || !got.auto || strings.Join(got.passed, "|") != tt.passed {
				t.Errorf("got %s, passed over %q; want %s, %q", chosen, got.passed, tt.want, tt.passed)
			}
			if asked := strings.Join(*probes, ","); asked != tt.probes {
				t.Errorf("asked %s, want %s", asked, tt.probes)
			}
			if !slices.Equal(engineNames(list), before) {
				t.Error("the list was changed")
			}
		})
	}
}

// TestNoEngine: every reason is told, each once, with what to do.
func TestNoEngine(t *testing.T) {
	for name, tt := range map[string]struct {
		engines string
		wish    engineWish
		code    int
		want    []string
	}{
		"none is there":             {"-docker -docker -gvisor", engineWish{}, exitBoundary, []string{"engine gvisor cannot run here: it is not installed", "hint: install gvisor", "engine docker cannot run"}},
		"what is asked cannot be":   {"-docker gvisor", engineWish{spec: wanting("", 0.5)}, exitUsage, []string{"engine gvisor refused: it cannot limit CPUs to a fraction", "engine docker cannot run"}},
		"nor can an image":          {"gvisor", engineWish{spec: wanting("img", 0)}, exitUsage, []string{`image "img" refused: the engine gvisor has no images`, "--rootfs"}},
		"this ralph has none":       {"", engineWish{}, exitFailure, []string{"this ralph has no engine"}},
		"a named one is not there":  {"gvisor -docker", engineWish{name: "docker"}, exitBoundary, []string{"engine docker cannot run here: it is not installed", "hint: install docker"}},
		"is not part of this ralph": {"gvisor docker docker", engineWish{name: "podman"}, exitUsage, []string{`engine "podman" is not part of this ralph`, "use one of: gvisor, docker\n"}},
		"has no images":             {"gvisor docker+", engineWish{name: "gvisor", spec: wanting("img", 0)}, exitUsage, []string{"has no images", "--rootfs"}},
		"cannot do what is asked":   {"gvisor docker+", engineWish{name: "gvisor", spec: wanting("", 1.5)}, exitUsage, []string{"fraction"}},
		"does not have the runtime": {"docker/runc docker/runsc", engineWish{name: "docker", runtime: "kata"}, exitBoundary, []string{"engine docker cannot run here: it has no OCI runtime kata", "--oci-runtime runc|runsc"}},
		"has it, and it fails":      {"docker/runc -docker/kata", engineWish{name: "docker", runtime: "kata"}, exitBoundary, []string{"it is not installed"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.wish.name == "" {
				tt.wish.name = config.EngineAuto
			}
			list, _ := machine(tt.engines)
			_, err := chooseEngine(t.Context(), list, tt.wish)
			var said strings.Builder
			if code := report(&said, err); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, want := range tt.want {
				if n := strings.Count(said.String(), want); n != 1 {
					t.Errorf("%d times %q in:\n%s", n, want, said.String())
				}
			}
		})
	}
}

// TestNamedEngine is never another one.
func TestNamedEngine(t *testing.T) {
	list, probes := machine("gvisor docker/runc docker/runsc podman/crun")
	for _, tt := range []struct{ name, runtime, want string }{
		{"docker", "", "docker with runc"},
		{"docker", "runsc", "docker with runsc"},
		{"podman", "", "podman with crun"},
		{"gvisor", "", "gvisor"},
	} {
		*probes = nil
		got, err := chooseEngine(t.Context(), list, engineWish{name: tt.name, runtime: tt.runtime})
		if err != nil || runtimeName(got.info.Engine, got.info.Runtime) != tt.want || got.auto || got.reason != "asked for" {
			t.Errorf("%s with %q: %+v, %v", tt.name, tt.runtime, got, err)
		}
		for _, asked := range *probes {
			if !strings.HasPrefix(asked, tt.name) {
				t.Errorf("%s was asked for %s", asked, tt.name)
			}
		}
	}
}

// TestChoosingIsInterrupted: that is not taken for an engine that cannot run.
func TestChoosingIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{config.EngineAuto, "docker"} {
		list, _ := machine("-docker docker")
		if _, err := chooseEngine(ctx, list, engineWish{name: name}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWordsAboutAnEngine are one line, and a note where the user cannot know.
func TestWordsAboutAnEngine(t *testing.T) {
	choice := engineChoice{auto: true, passed: []string{"gvisor: no"}, info: sandbox.Info{
		Engine: "docker", Version: "28.2", Runtime: "runc", Boundary: "container\x1b[2J", Lacks: []string{"a kernel of its own", "disk limits"},
	}}
	const line, note = "ralph: engine docker 28.2 with runc: container\ufffd[2J; passed over: gvisor: no\n", "ralph: note: docker lacks: a kernel of its own; disk limits\n"
	for _, tt := range []struct {
		auto, verbose bool
		want          string
	}{{true, true, line + note}, {true, false, note}, {false, true, line + note}, {false, false, ""}} {
		var said strings.Builder
		choice.auto = tt.auto
		choice.tell(World{Err: &said}, tt.verbose)
		if said.String() != tt.want {
			t.Errorf("auto %v, verbose %v: %q, want %q", tt.auto, tt.verbose, said.String(), tt.want)
		}
	}
}
