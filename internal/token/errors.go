package token

import (
	"errors"
	"fmt"
)

// Reason tells why a credential cannot be used.
type Reason string

// The reasons.
const (
	Missing     Reason = "missing"
	Expired     Reason = "expired"
	Rejected    Reason = "rejected"    // by the provider
	Interrupted Reason = "interrupted" // while it was renewed; nobody knows what the provider did
)

// LoginError means that there is no usable credential and that a person has to
// see to it. Trying again does not help.
type LoginError struct {
	Agent  string
	Reason Reason
	Detail string // what happened, as a sentence goes on after "for AGENT: "
	Fix    string // the command to run, or what else to do
}

func (e *LoginError) Error() string {
	return fmt.Sprintf("no usable credential for %s: %s", e.Agent, e.Detail)
}

// Hint is what to do about it.
func (e *LoginError) Hint() string { return e.Fix }

// storeIt is the command that stores a new credential.
func storeIt(agent string) string { return "ralph store-token --agent " + agent }

// hinted is an error with the way on.
type hinted struct {
	error
	hint string
}

func withHint(err error, hint string) error { return hinted{err, hint} }

func (e hinted) Unwrap() error { return e.error }
func (e hinted) Hint() string  { return e.hint }

// errNone means that a place holds no credential of a name.
var errNone = errors.New("not stored")
