package probe

import "slices"

// all lists the probes kind by kind.
func all() []Probe {
	return slices.Concat(
		fileProbes(), outsideProbes(),
		gitProbes(),
		processProbes(),
		privilegeProbes(),
		socketProbes(), networkProbes(), exfilProbes(), interfaceProbes(),
		kernelProbes(), mountProbes(), namespaceProbes(),
		resourceProbes(),
	)
}

// steps are the halves of probes that run in a process of their own. They are
// not listed, but Main finds them by name.
func steps() []Probe { return slices.Concat(namespaceSteps(), resourceSteps()) }
