package agent

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Host is how a host is looked over. The functions are those of os, os/exec and
// path/filepath; tests have others.
type Host struct {
	Home     string
	Self     string // ralph's own program
	LookPath func(name string) (string, error)
	Resolve  func(path string) (string, error) // follows links; fails if nothing is there
	Head     func(path string) ([]byte, error) // the first bytes of a file
}

// Program is an agent's program on the host.
type Program struct {
	Path   string // the file that is started, without links
	Folder string // what must be seen, read-only, for it to run: a folder or Path itself
	Node   string // the node that runs it, if it is a script
}

// Mount shows a file or folder of the host, read-only, at a place inside.
type Mount struct{ Host, Inside string }

// MissingError says that an agent's program is not on the host.
type MissingError struct {
	Agent   string
	Install string // the command that brings it
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("the program of %s is not installed", e.Agent)
}

// places is where an agent's program is looked for.
type places struct {
	program string   // its name on the PATH
	usual   []string // other places, under the home
	install string
	self    bool                              // it is ralph itself
	native  func(Host, string) (string, bool) // finds the program behind a script
}

// The places, by agent.
var (
	claudePlaces = places{
		program: "claude",
		usual:   []string{".local/bin/claude", ".claude/local/claude", ".npm-global/bin/claude"},
		install: "npm install -g @anthropic-ai/claude-code",
	}
	codexPlaces = places{
		program: "codex",
		usual:   []string{".local/bin/codex", ".npm-global/bin/codex"},
		install: "npm install -g @openai/codex",
		native:  codexNative,
	}
	opencodePlaces = places{
		program: "opencode",
		usual:   []string{".opencode/bin/opencode", ".local/bin/opencode", ".npm-global/bin/opencode"},
		install: "npm install -g opencode-ai",
	}
	geminiPlaces = places{
		program: "gemini",
		usual:   []string{".local/bin/gemini", ".npm-global/bin/gemini"},
		install: "npm install -g @google/gemini-cli",
	}
	miniPlaces = places{self: true}
)

// FindProgram looks for the agent's program: on the PATH, then at the usual
// places. The agent "command" has none: its program is inside.
func (a Agent) FindProgram(h Host) (Program, error) {
	switch {
	case a.places.self:
		return Program{Path: h.Self, Folder: h.Self}, nil
	case a.places.program == "":
		return Program{}, fmt.Errorf("%s has no program on the host: it is what the configuration says", a.Name)
	}
	for _, candidate := range a.places.candidates(h) {
		if real, err := h.Resolve(candidate); err == nil {
			return a.places.describe(h, real)
		}
	}
	return Program{}, &MissingError{Agent: a.Name, Install: a.places.install}
}

func (p places) candidates(h Host) []string {
	var paths []string
	if found, err := h.LookPath(p.program); err == nil && filepath.IsAbs(found) {
		paths = append(paths, found)
	}
	for _, usual := range p.usual {
		if h.Home != "" {
			paths = append(paths, filepath.Join(h.Home, filepath.FromSlash(usual)))
		}
	}
	return paths
}

// describe finds out what must be seen for a program to run.
func (p places) describe(h Host, program string) (Program, error) {
	if p.native != nil {
		if native, ok := p.native(h, program); ok {
			program = native
		}
	}
	if folder, ok := vendorFolder(program); ok {
		return Program{Path: program, Folder: folder}, nil
	}
	head, err := h.Head(program)
	if err != nil {
		return Program{}, fmt.Errorf("looking at %s: %w", program, err)
	}
	if !strings.HasPrefix(string(head), "#!") && filepath.Ext(program) != ".js" {
		return Program{Path: program, Folder: program}, nil // one file, nothing beside it
	}
	return script(h, program)
}

// script is a program that node runs, with the package that it belongs to. Another
// script could need anything: it is refused.
func script(h Host, program string) (Program, error) {
	folder, ok := packageFolder(program)
	if !ok {
		return Program{}, fmt.Errorf("%s is a script outside a package: what it needs cannot be known", program)
	}
	found, err := h.LookPath("node")
	if err != nil {
		return Program{}, fmt.Errorf("%s needs node: %w", program, err)
	}
	node, err := h.Resolve(found)
	if err != nil {
		return Program{}, fmt.Errorf("looking for node: %w", err)
	}
	return Program{Path: program, Folder: folder, Node: node}, nil
}
