package gate

// Reaches tells whether the policy allows something of what host, in the form of
// a rule, names. A credential for a host that it does not reach is of no use.
func (p *Policy) Reaches(host string) bool {
	rule, err := ParseRule(host)
	if err != nil || p == nil || p.mode == ModeNone {
		return false
	}
	return p.checkReachable(rule) == nil
}
