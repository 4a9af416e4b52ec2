package gate

import "fmt"

// Mode is how a Policy treats a destination that no rule names.
type Mode string

// The modes, from closed to open. The zero Mode is no mode, and denies.
const (
	ModeNone      Mode = "none"      // nothing is reached
	ModeAllowlist Mode = "allowlist" // what an allow rule names is reached
	ModeAllowAll  Mode = "allow-all" // every public destination is reached
)

// ParseMode reads a mode as configuration spells it. "deny" is "none".
func ParseMode(text string) (Mode, error) {
	switch text {
	case "none", "deny":
		return ModeNone, nil
	case "allowlist":
		return ModeAllowlist, nil
	case "allow-all":
		return ModeAllowAll, nil
	}
	return "", fmt.Errorf("unknown network policy %q: want deny (or none), allowlist or allow-all", text)
}
