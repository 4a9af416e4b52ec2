package keeper

import (
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Messages that wait in a queue are memory that no process shows.
func TestMessagesCount(t *testing.T) {
	queue, _, errno := unix.Syscall(unix.SYS_MSGGET, 0, 0o600, 0)
	if errno == unix.ENOSYS {
		t.Skip("this kernel has no such queues")
	}
	if errno != 0 {
		t.Fatal(errno)
	}
	defer unix.Syscall(unix.SYS_MSGCTL, queue, 0, 0) // 0 deletes it
	before := systemV("msg", "cbytes")
	message := struct {
		kind int
		text [4096]byte
	}{kind: 1}
	_, _, errno = syscall.Syscall6(unix.SYS_MSGSND, queue, uintptr(unsafe.Pointer(&message)), uintptr(len(message.text)), unix.IPC_NOWAIT, 0, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	if grown := systemV("msg", "cbytes") - before; grown < int64(len(message.text)) {
		t.Errorf("%d bytes more, want %d", grown, len(message.text))
	}
	if systemV("none", "cbytes") != 0 || systemV("msg", "none") != 0 {
		t.Error("what is not there counts")
	}
}
