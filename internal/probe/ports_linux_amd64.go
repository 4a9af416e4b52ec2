package probe

import "golang.org/x/sys/unix"

// ioPorts asks for port 0x80, which only shows numbers on a diagnostic card.
func ioPorts(Facts) []way {
	return []way{
		{"ioperm", func() error { return unix.Ioperm(0x80, 1, 1) }},
		{"iopl", func() error { return unix.Iopl(3) }},
	}
}
