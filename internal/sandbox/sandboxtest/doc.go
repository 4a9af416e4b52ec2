// Package sandboxtest holds what every engine is tested with: one conformance
// suite, which shows that an engine does what package sandbox promises, and one
// attack suite, which shows that nothing gets out. An engine's own test is a few
// lines that hand it to both:
//
//	func TestConformance(t *testing.T) {
//		sandboxtest.Conformance(t, gvisor.New(), sandboxtest.Options{})
//	}
//
// The checks speak POSIX sh and the usual small programs only, so that they run
// on any root file system. What an engine's Info says it cannot do is skipped
// with that reason, never passed over in silence.
//
// For tests of everything above engines there is Memory, an engine that runs
// shell scripts inside the test's own process. It starts in no time, keeps the
// whole contract of package sandbox but for terminals, and isolates nothing.
package sandboxtest
