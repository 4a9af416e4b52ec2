package probe

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func privilegeProbes() []Probe {
	return []Probe{
		{"root-user", "looks whether it is root, or in root's group", Privileges, rootUser},
		{"become-root", "asks to become root", Privileges, ways(becomeRoot)},
		{"capabilities", "looks for capabilities in any of its sets", Privileges, capabilities},
		{"raise-capabilities", "gives itself capabilities", Privileges, ways(raiseCapabilities)},
		{"no-new-privileges", "looks whether programs it starts may gain privileges", Privileges, noNewPrivileges},
		{"setuid-programs", "starts the system's set-user-ID programs to become root", Privileges, setuidPrograms},
		{"raise-limits", "raises its own hard limits", Privileges, ways(raiseLimits)},
	}
}

func rootUser(Facts) Result {
	groups, err := unix.Getgroups()
	if err != nil {
		return failed("listing groups: %v", err)
	}
	ids := append([]int{unix.Getuid(), unix.Geteuid(), unix.Getgid(), unix.Getegid()}, groups...)
	for _, id := range ids {
		if id == 0 {
			return breach("user %d, group %d, further groups %v", unix.Geteuid(), unix.Getegid(), groups)
		}
	}
	return blocked("user %d, group %d, further groups %v", unix.Geteuid(), unix.Getegid(), groups)
}

// becomeRoot makes the calls on a thread of its own, which then ends.
func becomeRoot(Facts) []way {
	call := func(trap, a, b, c uintptr) func() error {
		return onOwnThread(func() error {
			_, _, e := unix.RawSyscall(trap, a, b, c)
			return errno(e)
		})
	}
	return []way{
		{"setuid(0)", call(unix.SYS_SETUID, 0, 0, 0)},
		{"setreuid(0, 0)", call(unix.SYS_SETREUID, 0, 0, 0)},
		{"setresuid(0, 0, 0)", call(unix.SYS_SETRESUID, 0, 0, 0)},
		{"setgid(0)", call(unix.SYS_SETGID, 0, 0, 0)},
		{"setresgid(0, 0, 0)", call(unix.SYS_SETRESGID, 0, 0, 0)},
		{"setgroups(none)", call(unix.SYS_SETGROUPS, 0, 0, 0)},
	}
}

// onOwnThread runs try on a thread that is thrown away with whatever try did
// to it.
func onOwnThread(try func() error) func() error {
	return func() error {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			done <- try()
		}()
		return <-done
	}
}

func capabilities(Facts) Result {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return failed("reading capabilities: %v", err)
	}
	for _, d := range data {
		if d.Effective|d.Permitted|d.Inheritable != 0 {
			return breach("effective %x, permitted %x, inheritable %x", d.Effective, d.Permitted, d.Inheritable)
		}
	}
	for c := range 64 {
		if v, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0); err == nil && v == 1 {
			return breach("capability %d is in the bounding set", c)
		}
		if v, err := unix.PrctlRetInt(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_IS_SET, uintptr(c), 0, 0); err == nil && v == 1 {
			return breach("capability %d is in the ambient set", c)
		}
	}
	return blocked("all sets are empty")
}

func raiseCapabilities(Facts) []way {
	raise := onOwnThread(func() error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		admin := uint32(1) << unix.CAP_SYS_ADMIN
		data := [2]unix.CapUserData{{Effective: admin, Permitted: admin, Inheritable: admin}}
		return unix.Capset(&header, &data[0])
	})
	ambient := onOwnThread(func() error {
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, unix.CAP_SYS_ADMIN, 0, 0)
	})
	return []way{{"capset", raise}, {"ambient set", ambient}}
}

func noNewPrivileges(Facts) Result {
	v, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	switch {
	case err != nil:
		return failed("asking for no_new_privs: %v", err)
	case v != 1:
		return breach("no_new_privs is %d", v)
	}
	return blocked("no_new_privs is set")
}

// setuidPrograms starts each program and watches whom it runs as while it waits
// for its input.
func setuidPrograms(Facts) Result {
	var tried []string
	for _, path := range findSetuid() {
		if err := runsAsRoot(path); err == nil {
			return breach("%s ran as root", path)
		}
		tried = append(tried, path)
	}
	if len(tried) == 0 {
		return notApplicable("there is no set-user-ID program inside")
	}
	return blocked("none of %s ran as root", strings.Join(tried, ", "))
}

func findSetuid() []string {
	var list []string
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin", "/usr/local/bin", "/usr/lib/openssh"} {
		entries, _ := os.ReadDir(dir) // a missing directory holds none
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && info.Mode()&os.ModeSetuid != 0 && len(list) < 12 {
				list = append(list, filepath.Join(dir, e.Name()))
			}
		}
	}
	return list
}

func runsAsRoot(path string) error {
	cmd := exec.Command(path)
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe() // held open, so that the program waits
	if err != nil {
		return notTried(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()         //nolint:errcheck // it was killed
	defer cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
	for range 20 {
		status, err := read(procPath(cmd.Process.Pid, "status"))
		if err == nil && effectiveRoot(status) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return errors.New("it runs as the same user")
}

// effectiveRoot reads the second number of the line "Uid: real effective ...".
func effectiveRoot(status []byte) bool {
	_, rest, ok := bytes.Cut(status, []byte("\nUid:"))
	fields := bytes.Fields(rest)
	return ok && len(fields) > 1 && string(fields[1]) == "0"
}

func raiseLimits(Facts) []way {
	limits := []struct {
		name  string
		which int
	}{
		{"processes", unix.RLIMIT_NPROC}, {"open files", unix.RLIMIT_NOFILE},
		{"file size", unix.RLIMIT_FSIZE}, {"memory", unix.RLIMIT_AS}, {"core files", unix.RLIMIT_CORE},
	}
	var list []way
	for _, l := range limits {
		list = append(list, way{"raise the limit of " + l.name, func() error { return raiseLimit(l.which) }})
	}
	return list
}

func raiseLimit(which int) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(which, &old); err != nil {
		return notTried(err)
	}
	if old.Max == unix.RLIM_INFINITY {
		return fmt.Errorf("it has no hard limit to raise")
	}
	raised := unix.Rlimit{Cur: old.Cur, Max: old.Max + 1}
	if err := unix.Prlimit(0, which, &raised, nil); err != nil {
		return err
	}
	return unix.Prlimit(0, which, &old, nil)
}
