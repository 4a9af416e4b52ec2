// Package token owns the credentials of this machine's user: it stores, checks
// and renews them, on the host and nowhere else. A sandbox never gets one; the
// gate asks a Source for the one to put into a request.
//
// # Where they lie
//
// A Store keeps one Record for each agent, in the keyring of the system or,
// where there is none, in a file that only its owner can read.
//
// # Who renews them
//
// A login comes with a refresh token that works once: whoever renews it makes
// every other copy worthless, and a provider that sees one twice ends the login.
// So there is one owner for all runs on a machine, and these rules:
//
//   - Renewing happens under a lock that all processes share. Whoever gets it
//     reads the store again first, and uses what another has renewed meanwhile.
//   - That a refresh token is about to be sent is written down before it is sent,
//     and the new pair is stored before it is used. A crash in between is seen
//     by the next process, which does not send it again but says so.
package token
