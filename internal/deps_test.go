// Package internal holds the rule of who may import whom, as a test.
package internal

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agent-loop/ralph"

// allowed lists, for each package, what it may import of ours. A package that is
// not listed may import nothing of ours. The command line may import everything.
var allowed = map[string][]string{
	"":                             {"internal/cli", "internal/sandbox/gvisor", "internal/sandbox/keeper"},
	"internal/cli":                 {"*"},
	"scripts/bench":                {"*"},
	"scripts/gatebench":            {"*"},
	"scripts/loopbench":            {"*"},
	"scripts/gitbench":             {"*"},
	"internal/workspace":           {"internal/sandbox", "internal/lockfile"},
	"internal/gate":                {"internal/money", "internal/secret"},
	"internal/gate/meter":          {"internal/money"},
	"internal/gate/budget":         {"internal/money", "internal/lockfile"},
	"internal/gate/model":          {"internal/gate", "internal/gate/meter", "internal/gate/budget", "internal/money", "internal/secret", "internal/token"},
	"internal/token":               {"internal/secret", "internal/lockfile"},
	"internal/mini":                {"internal/secret"},
	"internal/demo":                {"internal/agent", "internal/gate/tape", "internal/rundir"},
	"internal/notify":              {"internal/secret"},
	"internal/agent":               {"internal/money", "internal/plaintext"},
	"internal/config":              {"internal/suggest"},
	"internal/task":                {"internal/suggest"},
	"internal/loop":                {"internal/agent", "internal/plaintext", "internal/wholefile", "internal/task", "internal/sandbox", "internal/rundir"},
	"internal/rundir":              {"internal/money", "internal/lockfile"},
	"internal/view":                {"internal/money", "internal/plaintext", "internal/rundir"},
	"internal/view/stream":         {"internal/plaintext", "internal/rundir", "internal/agent", "internal/gate", "internal/money"},
	"internal/sandbox/gvisor":      {"internal/sandbox", "internal/sandbox/callfilter", "internal/door", "internal/sandbox/layout", "internal/sandbox/lifetime", "internal/sandbox/roster", "internal/sandbox/streams", "internal/sandbox/usage", "internal/proc", "internal/sandbox/machine"},
	"internal/sandbox/layout":      {"internal/sandbox"},
	"internal/sandbox/roster":      {"internal/lockfile", "internal/sandbox"},
	"internal/sandbox/usage":       {"internal/sandbox"},
	"internal/probe":               {"internal/threads"},
	"internal/sandbox/keeper":      {"internal/sandbox", "internal/sandbox/lifetime", "internal/sandbox/streams", "internal/sandbox/callfilter", "internal/sandbox/machine", "internal/sandbox/usage", "internal/door", "internal/threads"},
	"internal/sandbox/bubblewrap":  {"internal/sandbox", "internal/sandbox/keeper", "internal/sandbox/layout", "internal/sandbox/machine", "internal/sandbox/roster", "internal/sandbox/idmap", "internal/door", "internal/proc"},
	"internal/sandbox/container":   {"internal/sandbox", "internal/sandbox/keeper", "internal/sandbox/layout", "internal/sandbox/machine", "internal/sandbox/roster", "internal/sandbox/idmap", "internal/proc"},
	"internal/sandbox/lifetime":    {"internal/sandbox"},
	"internal/sandbox/machine":     {"internal/sandbox"},
	"internal/sandbox/streams":     {"internal/sandbox"},
	"internal/sandbox/sandboxtest": {"internal/sandbox", "internal/probe", "internal/gate"},
}

// fenced lists heavy dependencies and the one package that may import them.
var fenced = map[string]string{
	"gvisor.dev/":                  "internal/sandbox/gvisor",
	"github.com/opencontainers/":   "internal/sandbox/gvisor",
	"github.com/spf13/":            "internal/cli",
	"github.com/pelletier/go-toml": "internal/config",
	"mvdan.cc/sh":                  "internal/sandbox/sandboxtest",
	"github.com/zalando/":          "internal/token",
	"software.sslmate.com/":        "internal/trust",
	"github.com/anthropics/":       "internal/mini",
}

type goPackage struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
}

func TestDependencyDirection(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !mayImport(short(p), ours) {
				t.Errorf("%s must not import %s; see allowed in this file", short(p), ours)
			}
		}
	}
}

func TestHeavyDependenciesAreFenced(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, imported := range p.Imports {
			for prefix, home := range fenced {
				if strings.HasPrefix(imported, prefix) && short(p) != home {
					t.Errorf("%s imports %s; only %s may", short(p), imported, home)
				}
			}
		}
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
	}
}

func mayImport(from, to string) bool {
	may := allowed[from]
	return slices.Contains(may, to) || slices.Contains(may, "*")
}

func short(p goPackage) string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Doc,Imports", module+"/...").Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath != module+"/internal" {
			packages = append(packages, p)
		}
	}
}
