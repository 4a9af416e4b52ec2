//go:build linux && !amd64

package probe

// ioPorts has nothing to try: only x86 has hardware ports.
func ioPorts(Facts) []way { return nil }
