package sandboxtest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attackAbstract says whether the host has sockets without a file.
const attackAbstract = true

// attackKey puts the secret into the user's kernel keyring and returns the
// key's description, or nothing where the kernel has no keys.
func attackKey(t *testing.T, secret string) string {
	t.Helper()
	name := "attack-" + rand.Text()
	id, err := unix.AddKey("user", name, []byte(secret), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		t.Logf("no kernel key to attack: %v", err)
		return ""
	}
	t.Cleanup(func() {
		if _, err := unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0); err != nil {
			t.Errorf("removing the kernel key: %v", err)
		}
	})
	return name
}

// attackKernelLog returns the last long line of the kernel's log without its
// time, or nothing if we may not read it ourselves.
func attackKernelLog() string {
	const readAll = 3
	buf := make([]byte, 1<<18)
	n, err := unix.Klogctl(readAll, buf)
	if err != nil {
		return ""
	}
	line := ""
	for text := range strings.Lines(string(buf[:n])) {
		if _, message, ok := strings.Cut(strings.TrimSpace(text), "] "); ok && len(message) > 24 {
			line = message
		}
	}
	return line
}

// attackLeftovers lists the processes whose arguments name the sandbox.
func attackLeftovers(t *testing.T, id string) []string {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well formed
	var list []string
	for _, file := range files {
		args, err := os.ReadFile(file)
		if err == nil && bytes.Contains(args, []byte(id)) {
			list = append(list, fmt.Sprintf("%s: %.200q", filepath.Dir(file), args))
		}
	}
	return list
}

// attackDiskUse is what a file really takes: a sparse one takes little.
func attackDiskUse(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return info.Size()
}
