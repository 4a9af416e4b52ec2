package container

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// captured is what a real engine printed.
func captured(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What later versions print, as far as it matters, by their documentation and by
// reports of their users: not captured.
const (
	docker29 = `{"ServerVersion":"29.0.1","OperatingSystem":"Ubuntu 24.04 LTS","OSType":"linux","CgroupVersion":"2","CgroupDriver":"systemd",
		"DefaultRuntime":"runc","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,"NCPU":16,
		"Runtimes":{"io.containerd.runc.v2":{"path":"runc","status":{"org.opencontainers.runtime-spec.features":"{}"}},"runc":{"path":"runc"}},
		"SecurityOptions":["name=apparmor","name=seccomp,profile=builtin","name=cgroupns"],"ClientInfo":{"Version":"29.0.1"}}`
	dockerRootless = `{"ServerVersion":"28.2.2","OperatingSystem":"Debian GNU/Linux 13","OSType":"linux","CgroupVersion":"2","DefaultRuntime":"runc","NCPU":4,
		"MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":false,"Runtimes":{"runc":{"path":"runc"}},
		"SecurityOptions":["name=seccomp,profile=builtin","name=rootless","name=cgroupns"]}`
	dockerDesktop = `{"ServerVersion":"28.2.2","OperatingSystem":"Docker Desktop","OSType":"linux","CgroupVersion":"2","DefaultRuntime":"runc"}`
	dockerRemap   = `{"ServerVersion":"28.2.2","OperatingSystem":"x","OSType":"linux","CgroupVersion":"2","DefaultRuntime":"runc","SecurityOptions":["name=seccomp,profile=unconfined","name=userns"]}`
	podman5       = `{"host":{"os":"linux","cpus":16,"cgroupManager":"systemd","cgroupVersion":"v2","cgroupControllers":["cpu","io","memory","pids"],
		"conmon":{"path":"/usr/bin/conmon"},"databaseBackend":"sqlite","distribution":{"distribution":"fedora","variant":"workstation"},
		"idMappings":{"uidmap":[{"container_id":0,"host_id":1000,"size":1},{"container_id":1,"host_id":100000,"size":65536}]},
		"ociRuntime":{"name":"crun","path":"/usr/bin/crun"},"security":{"rootless":true,"seccompEnabled":true},"serviceIsRemote":false},"version":{"Version":"5.2.2"}}`
	podmanRemote = `{"host":{"os":"linux","ociRuntime":{"name":"crun"},"serviceIsRemote":true},"version":{"Version":"5.2.2"}}`
	podmanAlone  = `{"host":{"os":"linux","cgroupVersion":"v2","ociRuntime":{"name":"crun"},"security":{"rootless":true},
		"idMappings":{"uidmap":[{"container_id":0,"host_id":1000,"size":1}]}},"version":{"Version":"5.2.2"}}`
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name  string
		parse func(string) (facts, error)
		text  string
		want  facts
	}{
		{"docker 20.10", parseDocker, captured(t, "docker-20.10.json"), facts{
			version: "20.10.24+dfsg1", client: "28.2.2", system: "Debian GNU/Linux 12 (bookworm)",
			runtime: "runc", runtimes: []string{"crun", "runc", "runsc"},
			cgroups: 1, limitMemory: true, limitProcesses: true, limitCPUs: true, cpus: 2, filtered: true,
		}},
		{"docker 29", parseDocker, docker29, facts{
			version: "29.0.1", client: "29.0.1", system: "Ubuntu 24.04 LTS", runtime: "runc", runtimes: []string{"io.containerd.runc.v2", "runc"},
			cgroups: 2, limitMemory: true, limitProcesses: true, limitCPUs: true, cpus: 16, filtered: true,
		}},
		{"docker without root", parseDocker, dockerRootless, facts{
			version: "28.2.2", system: "Debian GNU/Linux 13", rootless: true, mapped: true, runtime: "runc", runtimes: []string{"runc"},
			cgroups: 2, limitMemory: true, limitProcesses: true, cpus: 4, filtered: true,
		}},
		{"docker desktop", parseDocker, dockerDesktop, facts{version: "28.2.2", system: "Docker Desktop", remote: true, runtime: "runc", cgroups: 2}},
		{"docker with other users and no filter", parseDocker, dockerRemap, facts{version: "28.2.2", system: "x", remapped: true, runtime: "runc", cgroups: 2}},
		{"podman 4.3", parsePodman, captured(t, "podman-4.3.json"), facts{
			version: "4.3.1", system: "debian", runtime: "runc", runtimePath: "/usr/bin/runc", runtimes: []string{"runc"},
			cgroupManager: "cgroupfs", conmon: "/usr/bin/conmon", cgroups: 1,
			limitMemory: true, limitProcesses: true, limitCPUs: true, cpus: 2, filtered: true,
		}},
		{"podman 4.3 without root", parsePodman, captured(t, "podman-4.3-rootless.json"), facts{
			version: "4.3.1", system: "debian", rootless: true, mapped: true, runtime: "runc", runtimePath: "/usr/bin/runc", runtimes: []string{"runc"},
			cgroupManager: "cgroupfs", conmon: "/usr/bin/conmon", cgroups: 1, cpus: 2, filtered: true,
		}},
		{"podman 5 without root", parsePodman, podman5, facts{
			version: "5.2.2", system: "fedora", rootless: true, mapped: true, runtime: "crun", runtimePath: "/usr/bin/crun", runtimes: []string{"crun"},
			cgroupManager: "systemd", conmon: "/usr/bin/conmon", cgroups: 2,
			limitMemory: true, limitProcesses: true, limitCPUs: true, cpus: 16, filtered: true,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.parse(test.text)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{}", "[]", "Client:", `{"ServerVersion":1}`, `{"ServerVersion":"28","DefaultRuntime":"runc","Runtimes":[]}`,
		`{"ServerErrors":["Cannot connect to the Docker daemon"]}`, `{"version":{"Version":"5"}}`,
		`{"host":{"cgroupControllers":"memory"},"version":{"Version":"5"}}`,
	} {
		if f, err := parseDocker(text); err == nil {
			t.Errorf("docker: %s gives %+v", text, f)
		}
		if f, err := parsePodman(text); err == nil {
			t.Errorf("podman: %s gives %+v", text, f)
		}
	}
}

// TestCheck: what cannot keep the promises of a sandbox is refused, with a way out.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name    string
		flavour flavour
		text    string
		want    string // part of the reason; empty: it will do
	}{
		{"docker 20.10", dockerFlavour(), captured(t, "docker-20.10.json"), ""},
		{"docker 29", dockerFlavour(), docker29, ""},
		{"an old docker", dockerFlavour(), strings.Replace(docker29, "29.0.1", "19.03.5", 1), "too old"},
		{"docker without root", dockerFlavour(), captured(t, "docker-20.10-rootless.json"), "its own root"},
		{"a later docker without root", dockerFlavour(), dockerRootless, "its own root"},
		{"docker desktop", dockerFlavour(), dockerDesktop, "another machine"},
		{"docker with other users", dockerFlavour(), dockerRemap, "userns-remap"},
		{"podman", podmanFlavour(), captured(t, "podman-4.3.json"), ""},
		{"podman without root", podmanFlavour(), podman5, ""},
		{"podman elsewhere", podmanFlavour(), podmanRemote, "another machine"},
		{"podman without users", podmanFlavour(), podmanAlone, "no users to map"},
		{"an old podman", podmanFlavour(), strings.Replace(podman5, "5.2.2", "3.4.4", 1), "too old"},
	} {
		t.Run(test.name, func(t *testing.T) {
			known, err := test.flavour.parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			err = test.flavour.check(known)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestOlderThan(t *testing.T) {
	oldest := [2]int{20, 10}
	for version, want := range map[string]bool{
		"20.10.24+dfsg1": false, "20.10": false, "v25.0.0": false, "29.0.0-rc.1": false, "20.11-dev": false, "4.9.3": true,
		"20.9.0": true, "19.03.5": true, "": true, "28": true, "x.y": true, "-1.2": true, "99999999999999999999.1": true,
	} {
		if got := olderThan(version, oldest); got != want {
			t.Errorf("%q: got %v", version, got)
		}
	}
}

func TestOwnKernel(t *testing.T) {
	for runtime, want := range map[string]bool{
		"runsc": true, "/usr/local/lib/ralph/runsc": true, "runsc-kvm": true, "kata": true, "kata-runtime": true, "io.containerd.kata.v2": true,
		"io.containerd.runsc.v1": true, "runc": false, "crun": false, "/opt/kata/runc": false, "io.containerd.runc.v2": false, "": false,
	} {
		if got := ownKernel(runtime); got != want {
			t.Errorf("%q: got %v", runtime, got)
		}
	}
}

// FuzzParse: whatever an engine says, what is made of it is short, is text, and
// never claims limits that a rootless engine without control groups would ignore.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"docker-20.10.json", "docker-20.10-rootless.json", "podman-4.3.json", "podman-4.3-rootless.json"} {
		f.Add(captured(f, name))
	}
	for _, text := range []string{docker29, dockerRootless, dockerDesktop, dockerRemap, podman5, podmanRemote, podmanAlone, `{"ServerErrors":["x"]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, fl := range []flavour{dockerFlavour(), podmanFlavour()} {
			known, err := fl.parse(text)
			if err != nil {
				continue
			}
			if known.version == "" || strings.ContainsAny(known.version+known.runtime+known.system+known.client, "\n\r\x00") && !strings.Contains(text, `\u0000`) {
				t.Errorf("%s: %+v", fl.name, known)
			}
			if len(known.version) > 400 || len(known.runtime) > 400 {
				t.Errorf("%s: too long", fl.name)
			}
			if fl.name == Podman && known.rootless && known.cgroups != 2 && (known.limitMemory || known.limitProcesses || known.limitCPUs) {
				t.Errorf("limits that do not hold: %+v", known)
			}
			_ = fl.check(known)
			_ = fl.describe(known)
		}
	})
}
