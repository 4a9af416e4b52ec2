package project

import (
	"regexp"
	"strings"
	"sync"
)

func detectGo(f folder) (Part, bool) {
	p := Part{
		Language: "Go", Tool: "go", Marker: f.has("go.mod"),
		Validation: "go vet ./... && go test ./...",
		Allow:      []string{"@go"},
		Packages:   []string{"golang-go"},
		Trusted:    []string{"**/*_test.go"},
	}
	return p, p.Marker != ""
}

func detectRust(f folder) (Part, bool) {
	p := Part{
		Language: "Rust", Tool: "cargo", Marker: f.has("Cargo.toml"),
		Validation: "cargo test",
		Allow:      []string{"@crates"},
		Packages:   []string{"cargo", "build-essential"},
		Trusted:    []string{"tests/**"},
	}
	if f.has("Cargo.lock") != "" {
		p.Validation = "cargo test --locked"
	}
	return p, p.Marker != ""
}

// makeTarget finds the rules of a Makefile: "test:" but not "test :=" or "test::=".
var makeTarget = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(check|test):([^=:]|$)`)
})

// detectC takes a Makefile for C or C++ only beside sources of these.
func detectC(f folder) (Part, bool) {
	p := Part{Language: "C/C++", Packages: []string{"build-essential"}}
	if p.Marker = f.has("CMakeLists.txt"); p.Marker != "" {
		p.Tool, p.Packages = "cmake", append(p.Packages, "cmake")
		p.Validation = "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure"
		return p, true
	}
	p.Tool, p.Marker = "make", f.has("Makefile", "makefile", "GNUmakefile")
	if p.Marker == "" {
		return p, false
	}
	if !f.hasSources() {
		p.Language = "make"
	}
	targets := makeTarget().FindAllStringSubmatch(f.text(p.Marker), -1)
	switch {
	case len(targets) == 0:
		p.Missing = p.Marker + " has no target test or check"
	default:
		p.Validation = "make " + targets[0][1]
	}
	return p, true
}

func (f folder) hasSources() bool {
	for _, suffix := range []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"} {
		if f.hasSuffix(suffix) != "" {
			return true
		}
	}
	return f.hasDir("src", "include") && !strings.HasPrefix(f.dir, "docs")
}
