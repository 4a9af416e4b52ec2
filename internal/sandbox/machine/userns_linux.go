package machine

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ExplainNamespaceError names the kernel setting that forbids user namespaces,
// which the error itself does not, and the mend.
func ExplainNamespaceError(err error) (reason, fix string) {
	return explainNamespaceError(err, readSetting)
}

func explainNamespaceError(err error, setting func(string) string) (reason, fix string) {
	switch {
	case setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "kernel.apparmor_restrict_unprivileged_userns=1 forbids ordinary users to make user namespaces",
			"sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give ralph an AppArmor profile with the line 'userns,', or run it with sudo"
	case setting("kernel/unprivileged_userns_clone") == "0":
		return "kernel.unprivileged_userns_clone=0 forbids ordinary users to make user namespaces",
			"sudo sysctl kernel.unprivileged_userns_clone=1, or run ralph with sudo"
	case setting("user/max_user_namespaces") == "0" || errors.Is(err, unix.ENOSPC):
		return "user.max_user_namespaces leaves no room for a user namespace",
			"sudo sysctl user.max_user_namespaces=15000"
	case errors.Is(err, unix.EPERM):
		return "user namespaces are forbidden, as in a container with the default seccomp profile",
			"start the container with --security-opt seccomp=unconfined, or use another engine"
	default:
		return fmt.Sprintf("a user namespace cannot be made: %v", err), "use another engine"
	}
}

func readSetting(name string) string {
	data, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
