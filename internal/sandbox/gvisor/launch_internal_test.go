//go:build linux

package gvisor

import (
	"strings"
	"testing"
)

func TestStartFailure(t *testing.T) {
	const (
		banner    = "I0102 03:04:05.678901       1 main.go:201] **************** gVisor ****************\n"
		secondary = "W0102 03:04:05.700000    4321 util.go:64] FATAL ERROR: running container: creating container: cannot create sandbox: cannot read client sync file: waiting for sandbox to start: EOF\n"
		gofer     = "W0102 03:04:05.700000    4322 util.go:64] FATAL ERROR: reading mounts file: EOF\n"
		cause     = "W0102 03:04:05.690000       1 util.go:64] FATAL ERROR: error creating loader: setting up chroot: mounting \"/data\": permission denied\n"
	)
	for name, tt := range map[string]struct{ log, want string }{
		"nothing":           {"", "it ended without a word"},
		"only white space":  {" \n\t\n", "it ended without a word"},
		"the cause":         {banner + cause, `error creating loader: setting up chroot: mounting "/data": permission denied`},
		"cause comes later": {banner + secondary + gofer + cause, `error creating loader: setting up chroot: mounting "/data": permission denied`},
		"cause comes first": {cause + secondary, `error creating loader: setting up chroot: mounting "/data": permission denied`},
		"only consequences": {banner + secondary, strings.TrimSpace(secondary)},
		"no fatal line":     {banner + "panic: oh no\n\n", "panic: oh no"},
		"one line":          {"ralph: confining the sandbox: no", "ralph: confining the sandbox: no"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := startFailure(tt.log).Error(); got != "starting the sandbox: "+tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
