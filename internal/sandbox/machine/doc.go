// Package machine is what engines need to know of the machine they run on: where
// this very program is and whether a sandbox can start it, which processors there
// are, and why a user namespace cannot be made.
package machine
