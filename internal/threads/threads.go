// Package threads makes threads before they are needed. Where no process may be
// started any more, no thread may either, and Go ends a program that cannot make
// one.
package threads

import (
	"runtime"
	"sync"
)

// Reserve has n threads made. Go keeps those it does not need at the moment.
func Reserve(n int) {
	var all, here sync.WaitGroup
	release := make(chan struct{})
	here.Add(n)
	for range n {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			<-release
		})
	}
	here.Wait()
	close(release)
	all.Wait()
}
