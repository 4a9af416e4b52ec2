package gate

// Codes of the refusals that have to do with credentials, for Event.Code.
const (
	CodeNotBound              = "not_bound"              // no credential of the host takes the method and path
	CodeAmbiguousPath         = "ambiguous_path"         // the path could mean another one upstream
	CodeMethodRefused         = "method_refused"         // TRACE and the like
	CodeUpgradeRefused        = "upgrade_refused"        // WebSocket and the like
	CodeCredentialInQuery     = "credential_in_query"    // the client's own, or a method override
	CodeCredentialInClear     = "credential_in_clear"    // plain HTTP to a host with a credential
	CodeCredentialUnavailable = "credential_unavailable" // its source failed
	CodeCredentialEchoed      = "credential_echoed"      // the upstream sent it back
	CodeResponseEncoded       = "response_encoded"       // so that an echo could not be seen
	CodePhantomMisused        = "phantom_misused"        // sent to a host that it is not for
	CodeAuthorityNotTrusted   = "authority_not_trusted"  // the client broke off the handshake
)

// refusal is why a request does not pass, by rules that the user may change.
type refusal struct {
	code   string
	reason string
	fix    string
}

// refuse ends the exchange with a refusal, which is answered as the policy's are.
func (x *exchange) refuse(t target, r *refusal) {
	x.event.Code = r.code
	x.deny(t, Decision{Rule: x.event.Rule, Reason: r.reason, Fix: r.fix})
}
