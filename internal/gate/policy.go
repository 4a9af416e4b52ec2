package gate

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Policy says which destinations may be reached. It does not change once made
// and may be used by many goroutines. The zero Policy and a nil one deny
// everything.
type Policy struct {
	mode  Mode
	allow []Rule
	deny  []Rule
}

// Decision is the answer of a Policy about one destination.
type Decision struct {
	Allowed bool
	Rule    string // the rule that decided; empty if none did
	Reason  string // why, in a few words
	TCP     bool   // allowed, and any bytes may pass, not TLS and HTTP alone
	Fix     string // denied: what the user can do to allow it; empty if nothing
}

// NewPolicy makes a Policy out of rules and presets, "@npm" or plain "npm". The
// error joins one for every rule that is wrong.
func NewPolicy(mode Mode, allow, deny []string) (*Policy, error) {
	p := &Policy{mode: mode}
	var modeErr, allowErr, denyErr error
	if _, modeErr = ParseMode(string(mode)); modeErr != nil {
		p.mode = ModeNone
	}
	p.allow, allowErr = parseRules("allow", allow, Rule.checkAllow)
	p.deny, denyErr = parseRules("deny", deny, Rule.checkDeny)
	if err := errors.Join(modeErr, allowErr, denyErr); err != nil {
		return nil, err
	}
	return p, nil
}

// parseRules reads one list, going on after a bad rule to report them all.
func parseRules(list string, texts []string, check func(Rule) error) ([]Rule, error) {
	var rules []Rule
	var bad []error
	for _, text := range texts {
		parsed, err := parseRuleOrPreset(text)
		for _, rule := range parsed {
			err = errors.Join(err, check(rule))
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s rule %q: %w", list, clip(text, 128), err))
			continue
		}
		rules = append(rules, parsed...)
	}
	return rules, errors.Join(bad...)
}

// parseRuleOrPreset reads a preset's name as the preset, with or without its @;
// a host of such a name is written with its port.
func parseRuleOrPreset(text string) ([]Rule, error) {
	name, marked := strings.CutPrefix(text, "@")
	texts, isPreset := presetRules(name)
	if !isPreset {
		if marked {
			return nil, fmt.Errorf("no such preset: there are %s", strings.Join(Presets(), ", "))
		}
		rule, err := ParseRule(text)
		if err != nil {
			return nil, err
		}
		return []Rule{rule}, nil
	}
	var rules []Rule
	for _, text := range texts {
		rule, err := ParseRule(text)
		if err != nil {
			return nil, err
		}
		rule.preset = name
		rules = append(rules, rule)
	}
	return rules, nil
}

// Decide says whether host may be reached on port. The host may be spelled in
// any way and may be any bytes at all. An allowed name is not an allowed
// address: what it resolves to must pass Vet.
func (p *Policy) Decide(hostText string, port int) Decision {
	h, err := parseHost(hostText)
	if err != nil {
		return Decision{Reason: "invalid host: " + err.Error()}
	}
	if port < 1 || port > 65535 {
		return Decision{Reason: "invalid port"}
	}
	return p.decide(target{h, port})
}

// Vet says whether addr, one of the addresses that host resolved to, may be
// dialled on port. It takes the whole decision: it also denies what Decide does.
func (p *Policy) Vet(hostText string, port int, addr netip.Addr) Decision {
	d := p.Decide(hostText, port)
	if !d.Allowed {
		return d
	}
	h, _ := parseHost(hostText) // Decide has accepted it
	return p.vet(target{h, port}, addr, d)
}

func (p *Policy) decide(t target) Decision {
	d := p.decideName(t)
	if d.Allowed && t.host.addr.IsValid() {
		return p.vet(t, t.host.addr, d)
	}
	return d
}

// decideName matches the rules, whatever the host's address may be.
func (p *Policy) decideName(t target) Decision {
	if p == nil || p.mode != ModeAllowlist && p.mode != ModeAllowAll {
		return Decision{Reason: "the network policy is none", Fix: "use the network policy allowlist"}
	}
	if rule, ok := p.denying(t); ok {
		return deniedBy(rule)
	}
	open := p.mode == ModeAllowAll
	if rule, ok := p.allowing(t); ok {
		return Decision{Allowed: true, Rule: rule.String(), Reason: "allowed by rule", TCP: rule.tcp || open && t.port != 443}
	}
	if open {
		return Decision{Allowed: true, Rule: string(ModeAllowAll), Reason: "allowed by mode", TCP: t.port != 443}
	}
	return Decision{Reason: "no rule allows it", Fix: "add --allow " + allowArgument(t)}
}

// vet adds what the address says to d, an allowing decision about t.
func (p *Policy) vet(t target, addr netip.Addr, d Decision) Decision {
	addr = addr.Unmap()
	at := target{host{addr: addr}, t.port}
	if rule, ok := p.denying(at); ok {
		return deniedBy(rule)
	}
	kind := classify(addr)
	if kind == classPublic || p.opens(t, addr, kind) {
		return d
	}
	denied := Decision{Reason: fmt.Sprintf("%s is %s", addr, kind)}
	if kind == classUnspecified || kind == classInvalid {
		return denied
	}
	denied.Fix = "add --allow " + at.String()
	return denied
}

// opens tells whether the user named addr, which is not public, as a
// destination of t.
func (p *Policy) opens(t target, addr netip.Addr, kind class) bool {
	if kind == classLoopback && t.host.isLocalhost() && p.namesWithPort(t) {
		return true
	}
	for _, rule := range p.allow {
		if !rule.prefix.IsValid() || !rule.prefix.Contains(addr) || !rule.allowsPort(t.port) {
			continue
		}
		if rule.prefix.IsSingleIP() {
			return true
		}
		if kind == classEmbedded && !p.opensEmbedded(t, addr) || kind == classMetadata {
			continue
		}
		return true
	}
	return false
}

// namesWithPort tells whether a rule names t and its port.
func (p *Policy) namesWithPort(t target) bool {
	for _, rule := range p.allow {
		if rule.port == t.port && rule.matchesHost(t.host) {
			return true
		}
	}
	return false
}

// opensEmbedded looks through an address that carries another one: naming a
// translator's range does not name all that it leads to.
func (p *Policy) opensEmbedded(t target, addr netip.Addr) bool {
	inner := embedded(addr)
	if _, denied := p.denying(target{host{addr: inner}, t.port}); denied {
		return false
	}
	kind := classify(inner)
	return kind == classPublic || p.opens(t, inner, kind)
}

func (p *Policy) denying(t target) (Rule, bool) {
	for _, rule := range p.deny {
		if rule.matchesHost(t.host) && rule.deniesPort(t.port) {
			return rule, true
		}
	}
	return Rule{}, false
}

// allowing returns the first rule that allows t, a tcp rule before others: what
// one rule allows no other takes back.
func (p *Policy) allowing(t target) (first Rule, ok bool) {
	for _, rule := range p.allow {
		if !rule.matchesHost(t.host) || !rule.allowsPort(t.port) {
			continue
		}
		if rule.tcp {
			return rule, true
		}
		if !ok {
			first, ok = rule, true
		}
	}
	return first, ok
}

func deniedBy(rule Rule) Decision {
	return Decision{Rule: rule.String(), Reason: "denied by rule " + rule.String(), Fix: "remove the deny rule " + rule.String()}
}

// allowArgument is the narrowest rule that would allow t.
func allowArgument(t target) string {
	web := t.port == 80 || t.port == 443
	if web && !t.host.isLocalhost() && classify(t.host.addr) != classLoopback {
		return t.host.String()
	}
	return t.String()
}
