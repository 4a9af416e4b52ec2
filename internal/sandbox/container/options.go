package container

// Options say which engine is driven, and how.
type Options struct {
	// Flavour is Docker or Podman.
	Flavour Flavour

	// StateDir is where the engine keeps its state, in folders of its own.
	StateDir string

	// Binary is the ralph that is shown inside, one that calls keeper.Reexec first
	// thing in main. Empty means this very program.
	Binary string

	// Runtime is the OCI runtime to use, by the engine's name for it, or for Podman
	// a path. Empty means the engine's own choice.
	Runtime string

	// Program is the engine's command. Empty means to look for it where systems
	// keep their programs.
	Program string

	// Env is where the command's environment is taken from, as KEY=VALUE. It gets
	// only the few names that it needs to find its engine; nil means this process's
	// environment.
	Env []string

	// Args are given to the command before everything else.
	Args []string
}
