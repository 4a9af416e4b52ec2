package streams

import (
	"io"
	"reflect"
)

// Same tells whether both outputs of a command go to one writer, which then must
// be written to by one goroutine only. Writers that cannot be compared differ.
func Same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}
