package probe

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Only a refusal by the kernel itself means that no packet left.
func TestLeaves(t *testing.T) {
	tests := []struct {
		err  error
		left bool
	}{
		{nil, true},
		{errTimeout, true},
		{unix.ECONNREFUSED, true},
		{unix.ECONNRESET, true},
		{unix.EHOSTUNREACH, true},
		{unix.ENETUNREACH, false},
		{unix.EPERM, false},
		{unix.EAFNOSUPPORT, false},
		{notTried(unix.EMFILE), false},
	}
	for _, tt := range tests {
		if left := leaves(tt.err) == nil; left != tt.left {
			t.Errorf("%v: left %v, want %v", tt.err, left, tt.left)
		}
	}
}

// A complaint about the arguments comes after the permission check.
func TestAllowed(t *testing.T) {
	tests := []struct {
		err  error
		want bool
	}{
		{nil, true}, {unix.EINVAL, true}, {unix.EFAULT, true}, {unix.ENOENT, true}, {unix.EBADF, true},
		{unix.EPERM, false}, {unix.EACCES, false}, {unix.ENOSYS, false},
	}
	for _, tt := range tests {
		if got := allowed(tt.err) == nil; got != tt.want {
			t.Errorf("%v: allowed %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestEffectiveRoot(t *testing.T) {
	tests := map[string]bool{
		"Name:\tsu\nUid:\t1000\t0\t0\t0\n":       true,
		"Name:\tsu\nUid:\t1000\t1000\t0\t0\n":    false,
		"Name:\tUid:\t0\t0\n":                    false,
		"Name:\tsu\nUid:\t1000":                  false,
		"Name:\tsu\nGid:\t0\t0\nUid:\t7\t7\t7\n": false,
	}
	for status, want := range tests {
		if got := effectiveRoot([]byte(status)); got != want {
			t.Errorf("%q: %v, want %v", status, got, want)
		}
	}
}
