//go:build !unix

package task

// openWithoutWaiting is of no use where folders hold no pipes.
const openWithoutWaiting = 0
