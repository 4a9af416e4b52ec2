//go:build unix

package cli

import "syscall"

// noFollow keeps a link from leading elsewhere, and a pipe from being waited for.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
