package gittrap

import (
	"slices"
	"strings"
)

// Kind says how a trap bites.
type Kind int

const (
	// Executes means that a command of the agent's runs on the host.
	Executes Kind = iota
	// Misleads means that the host reads, writes or reports something other than
	// it seems to.
	Misleads
	// Hangs means that a reader never ends, or not before its memory does.
	Hangs
)

func (k Kind) String() string {
	return [...]string{"executes", "misleads", "hangs"}[k]
}

// Trap is one thing that a hostile agent leaves in a work tree, with which a
// careless host would run its code or be led astray.
type Trap struct {
	Name  string // stable, in kebab-case: "hook-post-checkout"
	About string // how it bites, in one line
	Kind  Kind

	// Plant is POSIX sh for sh -c, to be run in the top folder of a work tree whose
	// .git is a writable folder and whose only commit holds [Files]. It needs
	// nothing but sh, git and coreutils, no privilege and no identity for git.
	//
	// The environment variable CANARY must be the absolute path of a folder on the
	// host, made of letters, digits and "/._-" only. It is baked into what is
	// planted, and need not exist where Plant runs.
	Plant string

	// Trip is POSIX sh for sh -c, to be run in the planted tree by its owner: what
	// an ordinary user or a naive tool does. The exit code means nothing; the bite
	// is the file that [Trap.Canary] names.
	//
	// Where the trap is [Trap.Direct], Trip knows nothing of the canary: only what
	// was planted can make it. Otherwise Trip gets CANARY too, for victims of its own,
	// and makes the file itself upon proof.
	Trip string

	// Needs lists programs that Trip needs beside sh, git and coreutils.
	Needs []string
}

// Files are the files that a work tree holds, committed, before a trap is planted.
func Files() []string { return []string{"README", "a.txt", "prd.json", "progress.txt"} }

// Canary is the path of the file that exists after the trap has bitten.
func (t Trap) Canary(folder string) string { return folder + "/" + t.Name }

// Direct reports whether the bite itself makes the canary, as all that Executes does.
// For the others no canary on a host proves nothing: a test there must end in time and
// look at what About tells of.
func (t Trap) Direct() bool { return !strings.Contains(t.Trip, "$CANARY") }

// Traps returns all traps. Each is meant for a fresh tree: planted together, some
// would hide others.
func Traps() []Trap {
	traps := slices.Concat(hookTraps(), configTraps(), signingTraps(), driverTraps(), remoteTraps(),
		gitDirTraps(), nestedTraps(), linkTraps(), historyTraps(), reviewTraps(), fileTraps())
	for i := range traps {
		traps[i].Plant = prelude + traps[i].expand(traps[i].Plant)
		traps[i].Trip = traps[i].expand(traps[i].Trip)
	}
	return traps
}

// prelude begins every script of the agent's: it stops at the first failure, and
// git has somebody to commit as.
const prelude = `set -eu
export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=agent@example.com
export GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=agent@example.com
`

// expand writes out what the scripts of a trap abbreviate: {name}, and {touch} for
// the payload. The payload is quoted so that it can stand in sh, in a value of
// git's configuration and in a here-document that expands $CANARY.
func (t Trap) expand(script string) string {
	return strings.NewReplacer("{touch}", "touch '$CANARY/"+t.Name+"'", "{name}", t.Name).Replace(script)
}

// config is sh that appends lines to the configuration of the repository.
func config(lines string) string { return appendTo(".git/config", lines) }

// appendTo is sh that appends lines to a file; $CANARY in them is expanded.
func appendTo(path, lines string) string {
	return "cat >>" + path + " <<EOF\n" + strings.TrimSpace(lines) + "\nEOF\n"
}

// program is sh that makes an executable script.
func program(path, lines string) string {
	return appendTo(path, "#!/bin/sh\n"+lines) + "chmod +x " + path + "\n"
}
