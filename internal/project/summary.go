package project

import (
	"slices"
	"strings"
)

// Kind says in a few words what the project is: "Go", "Go and TypeScript".
func (p Project) Kind() string {
	var names []string
	for _, part := range p.Parts {
		if !slices.Contains(names, part.Language) {
			names = append(names, part.Language)
		}
	}
	switch len(names) {
	case 0:
		return "unknown"
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// maxCommand is what a configuration takes for one command, and a bit less.
const maxCommand = 4000

// Validation is one shell command that checks every part, or "" if for none of
// them a command is known. Parts that would make it too long are left out.
func (p Project) Validation() string {
	all := ""
	for _, part := range p.Parts {
		command := part.command()
		if all != "" && command != "" {
			command = " && " + command
		}
		if len(all)+len(command) <= maxCommand {
			all += command
		}
	}
	return all
}

// command validates the part from the project's folder.
func (p Part) command() string {
	if p.Validation == "" || p.Dir == "." {
		return p.Validation
	}
	return "(cd " + p.Dir + " && " + p.Validation + ")"
}

// Allow lists the rules and presets that the parts' dependencies need.
func (p Project) Allow() []string {
	return union(p.Parts, func(part Part) []string { return part.Allow })
}

// Packages lists the Debian packages that hold the parts' tools.
func (p Project) Packages() []string {
	return union(p.Parts, func(part Part) []string { return part.Packages })
}

// Trusted lists patterns of the check files of the project's own folder.
func (p Project) Trusted() []string {
	return union(p.Parts, func(part Part) []string {
		if part.Dir != "." {
			return nil
		}
		return part.Trusted
	})
}

// Missing says, for each part without a validation, why.
func (p Project) Missing() []string {
	return union(p.Parts, func(part Part) []string {
		switch {
		case part.Missing == "":
			return nil
		case part.Dir == ".":
			return []string{part.Missing}
		}
		return []string{part.Dir + ": " + part.Missing}
	})
}

// union joins the lists of all parts, each entry once, in the order they come.
func union(parts []Part, list func(Part) []string) []string {
	all := []string{}
	for _, part := range parts {
		for _, s := range list(part) {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}
