//go:build unix

package task

import "syscall"

// openWithoutWaiting keeps a pipe, put in a file's place, from holding up ralph.
const openWithoutWaiting = syscall.O_NONBLOCK
