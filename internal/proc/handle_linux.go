package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// endTime is how long the kernel may take to end a process and what dies with it.
const endTime = 10 * time.Second

// KillOther kills a process that somebody wrote down, and waits until it is gone.
// Its number may have been given to another one since: so its arguments are looked
// at while a handle holds on to it, and one that is not meant is left alone.
func KillOther(pid int, meant func(args []string) bool) error {
	if pid <= 0 {
		return nil
	}
	handle, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ending process %d: %w", pid, err)
	}
	defer unix.Close(handle)
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if !meant(strings.Split(string(bytes.TrimRight(data, "\x00")), "\x00")) {
		return nil
	}
	if err := unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("ending process %d: %w", pid, err)
	}
	return AwaitExit(handle)
}

// AwaitExit waits until the process of a handle (a pidfd) has ended.
func AwaitExit(handle int) error {
	deadline := time.Now().Add(endTime)
	for time.Now().Before(deadline) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}, 1000)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for a process to end: %w", err)
		}
	}
	return errors.New("waiting for a process to end: it is still there")
}
