//go:build amd64 || arm64

package callfilter_test

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls that the table tries, each made in an empty folder of its own.

// raw makes a call by its number. It stays on its thread, which may be changed for
// good; the goroutine ends with it.
func raw(number uintptr, arguments ...uintptr) func() error {
	return func() error {
		var a [6]uintptr
		copy(a[:], arguments)
		done := make(chan syscall.Errno)
		go func() {
			runtime.LockOSThread()
			_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
			done <- errno
		}()
		return asError(<-done)
	}
}

func asError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// inFolder makes a folder with a file in it and removes both afterwards.
func inFolder(try func(dir, file string) error) func() error {
	return func() error {
		dir, err := os.MkdirTemp(".", "")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file := dir + "/file"
		if err := os.WriteFile(file, make([]byte, 1<<16), 0o644); err != nil {
			return err
		}
		return try(dir, file)
	}
}

func withFile(try func(fd int) error) func() error {
	return inFolder(func(_, file string) error {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return try(int(f.Fd()))
	})
}

func chmod(mode uint32) func() error {
	return inFolder(func(_, file string) error { return unix.Chmod(file, mode) })
}

func fchmod(mode uint32) func() error {
	return withFile(func(fd int) error { return unix.Fchmod(fd, mode) })
}

func fchmodat2(mode uint32) func() error {
	return withFile(func(fd int) error {
		empty := [1]byte{}
		_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(mode), unix.AT_EMPTY_PATH, 0, 0)
		return asError(errno)
	})
}

func mkdir(mode uint32) func() error {
	return inFolder(func(dir, _ string) error { return unix.Mkdir(dir+"/new", mode) })
}

func mknod(mode uint32) func() error {
	return inFolder(func(dir, _ string) error { return unix.Mknod(dir+"/new", mode, 0) })
}

func rename(flags uint) func() error {
	return inFolder(func(dir, file string) error {
		return unix.Renameat2(unix.AT_FDCWD, file, unix.AT_FDCWD, dir+"/new", flags)
	})
}

// signalOf chooses what a descriptor sends when there is something to read.
func signalOf(signal unix.Signal) func(fd int) error {
	return func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETSIG, int(signal))
		return err
	}
}

func open(flags int, mode uint32) func() error {
	return inFolder(func(dir, _ string) error { return opened(dir+"/new", flags, mode) })
}

func openNameless(mode uint32) func() error {
	return inFolder(func(dir, _ string) error { return opened(dir, unix.O_TMPFILE|unix.O_WRONLY, mode) })
}

// openAgain opens a file that is there, so that no mode counts.
func openAgain(mode uint32) func() error {
	return inFolder(func(_, file string) error { return opened(file, unix.O_RDONLY, mode) })
}

func opened(path string, flags int, mode uint32) error {
	fd, err := unix.Open(path, flags, mode)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func openat2() error {
	fd, err := unix.Openat2(unix.AT_FDCWD, ".", &unix.OpenHow{Flags: unix.O_RDONLY})
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func fallocate(mode uint32) func() error {
	return withFile(func(fd int) error { return unix.Fallocate(fd, mode, 0, 1<<16) })
}

// reserve asks for disk with a struct space_resv.
func reserve(request uintptr) func() error {
	return withFile(func(fd int) error {
		space := struct {
			kind, whence  int16
			start, length int64
			system        int32
			process       uint32
			_             [4]int32
		}{length: 1 << 16}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(&space)))
		return asError(errno)
	})
}

func socket(domain, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func pair(kind int) func() error {
	return func() error {
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err == nil {
			unix.Close(fds[0])
			unix.Close(fds[1])
		}
		return err
	}
}

// start runs a program in new namespaces.
func start(namespaces uintptr) func() error {
	return func() error {
		cmd := exec.Command("true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
		return cmd.Run()
	}
}
