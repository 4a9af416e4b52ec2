//go:build !unix

package door

import (
	"errors"
	"fmt"
	"os"
)

// Pair makes the two ends of a door. This system cannot pass a socket on.
func Pair() (host, guest *os.File, err error) {
	return nil, nil, fmt.Errorf("make a socket pair: %w", errors.ErrUnsupported)
}
