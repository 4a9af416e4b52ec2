package token

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// errNoBus means that this session has no keyring at all.
var errNoBus = errors.New("no keyring is running here")

// reachKeyring tells why there can be no keyring. On desktops of the Linux kind
// one is reached by the session's message bus, and asking where there is no such
// bus would start one.
func reachKeyring(getenv func(string) string) error {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return nil
	}
	if address := getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" && !strings.HasPrefix(address, "autolaunch:") {
		return nil
	}
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(fmt.Sprintf("/run/user/%d/%s", os.Getuid(), name)); err == nil {
			return nil
		}
	}
	return errNoBus
}
