package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A Request is what another process may ask of the writer of a run.
type Request string

// What can be asked.
const (
	StopRequest  Request = "stop"  // end now
	PauseRequest Request = "pause" // end after this iteration
)

func (q Request) file() string { return "request-" + string(q) }

// Ask leaves a request for the writer of the run. It is no error to ask twice; a
// run that nobody writes never hears of it, see Holder.
func (r *Reader) Ask(q Request) error {
	if q != StopRequest && q != PauseRequest {
		return fmt.Errorf("a run can be asked to %s or %s, not to %q", StopRequest, PauseRequest, q)
	}
	f, err := r.logs.OpenFile(q.file(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("asking run %s to %s: %w", r.id, q, err)
	}
	return f.Close()
}

// Requests returns what was asked since the run was opened, most urgent first. It
// is cheap enough to be called many times a second.
func (r *Run) Requests() []Request {
	var asked []Request
	for _, q := range []Request{StopRequest, PauseRequest} {
		if _, err := r.logs.Lstat(q.file()); err == nil {
			asked = append(asked, q)
		}
	}
	return asked
}

// ClearRequests drops what was asked.
func (r *Run) ClearRequests() {
	for _, q := range []Request{StopRequest, PauseRequest} {
		_ = r.logs.Remove(q.file()) // mostly there is none
	}
}
