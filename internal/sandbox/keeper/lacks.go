package keeper

// What a sandbox with a keeper in it lacks, in the words of sandbox.Info.Lacks.
const (
	// LacksKernel is said of engines that share the host's kernel.
	LacksKernel = "a kernel of its own: a flaw in the host's kernel is a flaw in this boundary"
	// LacksSockets is said of the same.
	LacksSockets = "unix sockets, where a folder that others use is mounted"
	// LacksLimits is said where no control group keeps the limits.
	LacksLimits = "limits of the kernel's: memory and disk are watched, so a sandbox may be a moment over them, and one that means to can hide memory"
)
