// Package callfilter keeps system calls from the programs of a sandbox, with a
// seccomp filter that a process installs on itself and hands down to everything
// it starts. No later step can take it off.
//
// The rules for all sandboxes guard what their host must not suffer whatever
// stands between the two: files that act with their owner's rights, disk reserved
// in no time, snapshots of more than is shown, sockets that listen on the host,
// typing into a terminal, and meddling with the first process inside. With
// Options.Kernel the filter is also the wall before the host's own kernel, and
// closes what Docker's default profile closes to a container without
// capabilities.
//
// A filter sees numbers, not what pointers lead to. Calls whose meaning hides
// behind a pointer are therefore told to be missing (ENOSYS), and programs fall
// back to the older call that can be read: openat2 to openat, clone3 to clone,
// io_uring to plain reads and writes.
//
// Numbers that were not known when this was written are missing as well, so that a
// newer kernel opens nothing by itself. So are the calls of other architectures
// that the same kernel serves (i386 and x32 on amd64, 32-bit ARM on arm64): they
// count differently. They are refused rather than killed, because the kernel logs
// every kill on the host, as often as a guest likes.
//
// Debuggers work: ptrace and process_vm_readv reach only what the kernel's own
// checks allow, which is the same user's dumpable processes in the same sandbox.
// What a tracer makes its tracee do is filtered as well, since Linux 4.8.
package callfilter

// Options says what the programs of a sandbox may do beyond the rules for all.
type Options struct {
	// UnixSockets lets programs have unix sockets, not just connected pairs of
	// them. Only where no socket of the host's can be reached: neither in a mount,
	// nor, by an abstract name, in a network namespace shared with the host.
	UnixSockets bool

	// Kernel means that the sandbox shares the host's kernel and that this filter
	// must do what Docker's default profile does. It does no harm on top of that.
	//
	// Programs can then no longer choose their processors, for this is how their
	// number is limited: the call succeeds and does nothing. Many programs only
	// tune themselves with it, and an error would end them.
	Kernel bool
}
