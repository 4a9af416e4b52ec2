package config

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Sources are the layers of a configuration, the strongest first. A nil layer
// says nothing.
type Sources struct {
	Flags, Env, Project, User *Layer
}

// Resolve joins the sources; see the package documentation for the rules. The
// notes name each value of the project that was not used, and why.
func Resolve(s Sources) (Config, []string) {
	r := resolver{Sources: s, cfg: Defaults()}
	for _, f := range schema() {
		r.resolve(f)
	}
	r.settlePlace()
	r.settleRuntime()
	r.uniteProtect()
	r.uniteDenied()
	r.uniteBranches()
	r.joinAllowed()
	r.limitBypass()
	r.takeEntries()
	return r.cfg, r.notes
}

type resolver struct {
	Sources
	cfg   Config
	notes []string
}

func (r *resolver) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// resolve stores the value of one key, weakest source first.
func (r *resolver) resolve(f field) {
	user, said := r.User.get(f.key)
	if said {
		f.store(&r.cfg, user.value)
	}
	byPerson := has(f.key, r.Flags, r.Env)
	if project, ok := r.Project.get(f.key); ok && !byPerson {
		base := f.load(&r.cfg)
		used := f.tighten(base, said, project.value)
		f.store(&r.cfg, used)
		if !slices.Equal(f.texts(used), f.texts(project.value)) {
			r.noteUnused(f, project, used, reason(user, said))
		}
	}
	for _, l := range []*Layer{r.Env, r.Flags} {
		if own, ok := l.get(f.key); ok {
			f.store(&r.cfg, own.value)
		}
	}
}

func (r *resolver) noteUnused(f field, project setting, used any, why string) {
	if f.secret {
		r.note("%s: %s is not used: %s", project.origin, f.key, why)
		return
	}
	r.note("%s: %s = %s is not used, %s stays: %s", project.origin, f.key, f.show(project.value), f.show(used), why)
}

func reason(user setting, said bool) string {
	if said {
		return user.origin + " does not allow it"
	}
	return "a project cannot decide that; say it in your own file or with a flag"
}

// uniteProtect protects what anyone wants protected.
func (r *resolver) uniteProtect() {
	var all []string
	for _, l := range []*Layer{r.User, r.Project, r.Env, r.Flags} {
		for _, p := range l.strings(keyProtect) {
			all = append(all, path.Clean(p))
		}
	}
	r.cfg.Sandbox.Protect = unique(all)
}

// uniteDenied denies what anyone wants denied.
func (r *resolver) uniteDenied() {
	var all []string
	for _, l := range []*Layer{r.User, r.Project, r.Env, r.Flags} {
		all = append(all, l.strings(keyDenied)...)
	}
	r.cfg.Sandbox.Network.Denied = unique(all)
}

// uniteBranches protects the branches that anyone wants protected. The user's
// file may replace the default ones; the others add to them.
func (r *resolver) uniteBranches() {
	all := Defaults().Git.Protected
	if has(keyBranches, r.User) {
		all = slices.Clone(r.User.strings(keyBranches))
	}
	for _, l := range []*Layer{r.Project, r.Env, r.Flags} {
		all = append(all, l.strings(keyBranches)...)
	}
	r.cfg.Git.Protected = unique(all)
}

// joinAllowed makes the list of names that the agent may reach.
func (r *resolver) joinAllowed() {
	network := &r.cfg.Sandbox.Network
	own := slices.Concat(r.Flags.strings(keyAllowed), r.Env.strings(keyAllowed))
	switch {
	case network.Policy == PolicyDeny && len(own) > 0 && !r.denyIsLastWord():
		r.note("%s opens %s although the policy was %q", r.allowedBy(), quoteAll(own), PolicyDeny)
		network.Policy = PolicyAllowlist
		network.Allowed = unique(own)
	case network.Policy == PolicyDeny:
		network.Allowed = nil
	default:
		network.Allowed = unique(slices.Concat(r.allowedByFiles(), own))
	}
}

// denyIsLastWord reports whether the policy was given at least as strongly as
// the names.
func (r *resolver) denyIsLastWord() bool {
	return has(keyPolicy, r.Flags) || (has(keyPolicy, r.Env) && !has(keyAllowed, r.Flags))
}

// allowedBy is the flag or variable that names hosts.
func (r *resolver) allowedBy() string {
	if s, ok := r.Flags.get(keyAllowed); ok {
		return s.origin
	}
	s, _ := r.Env.get(keyAllowed)
	return s.origin
}

// allowedByFiles is the project's list as far as the user lets it, or the
// user's own.
func (r *resolver) allowedByFiles() []string {
	project, ok := r.Project.get(keyAllowed)
	if !ok {
		return r.User.strings(keyAllowed)
	}
	policy, _ := r.User.get(keyPolicy)
	bound, bounded := r.User.get(keyAllowed)
	switch policy.value {
	case PolicyAllowAll:
		bounded = false
	case PolicyDeny:
		bound, bounded = setting{value: []string(nil), origin: policy.origin}, true
	}
	names := r.publicNames(project)
	if !bounded {
		return names
	}
	kept, dropped := split(names, bound.value.([]string))
	if len(dropped) > 0 {
		r.note("%s: %s: %s not used: %s does not allow it", project.origin, keyAllowed, quoteAll(dropped), bound.origin)
	}
	return kept
}

// publicNames are the names of a project's list that lead to the internet. The
// others lead to the user's own machine and network, which a stranger's file
// must not open.
func (r *resolver) publicNames(project setting) []string {
	var public, private []string
	for _, name := range r.Project.strings(keyAllowed) {
		if isPublicName(name) {
			public = append(public, name)
		} else {
			private = append(private, name)
		}
	}
	if len(private) > 0 {
		r.note("%s: %s: %s not used: addresses, localhost and raw connections need your own word, as in --allow", project.origin, keyAllowed, quoteAll(private))
	}
	return public
}

// isPublicName reports whether a rule is a preset or a name with letters in its
// last label, which no address has.
func isPublicName(rule string) bool {
	rule = strings.ToLower(strings.TrimSpace(rule))
	if strings.HasPrefix(rule, "@") {
		return true
	}
	host, _, _ := strings.Cut(rule, ":")
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	hasLetter := strings.ContainsFunc(last, func(c rune) bool { return c >= 'a' && c <= 'z' })
	return hasLetter && !strings.HasPrefix(last, "0x") && last != "localhost" && !strings.ContainsAny(rule, "[]/")
}

// limitBypass keeps an agent on the host asking, unless the user says
// otherwise: there, its permissions are the only boundary.
func (r *resolver) limitBypass() {
	if !r.cfg.OnHost() || has(keyBypass, r.Flags, r.Env, r.User) {
		return
	}
	r.cfg.Execution.UseBypassPermissions = false
	if project, ok := r.Project.get(keyBypass); ok && project.value == true {
		r.note("%s: %s = true is not used on the host: %s", project.origin, keyBypass, reason(setting{}, false))
	}
}

// takeEntries takes the lists of the user's file. A project's would decide where
// the user's secrets go, or what a model seems to cost.
func (r *resolver) takeEntries() {
	if r.User != nil {
		r.cfg.Credentials, r.cfg.Prices = r.User.credentials, r.User.prices
	}
	if r.Project == nil {
		return
	}
	for _, c := range r.Project.credentials {
		r.note("%s: [[credential]] is not used: a project cannot say where secrets go; put it into your own file", c.Origin)
	}
	for _, p := range r.Project.prices {
		r.note("%s: [[price]] is not used: a project cannot say what models cost; put it into your own file", p.Origin)
	}
}

// split parts a project's names into those on the user's list and the others.
func split(names, bound []string) (kept, dropped []string) {
	for _, name := range names {
		if contains(bound, name) {
			kept = append(kept, name)
		} else {
			dropped = append(dropped, name)
		}
	}
	return kept, dropped
}

// contains reports whether a list has a name, in whatever case.
func contains(names []string, name string) bool {
	return slices.ContainsFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
}

// unique drops repetitions and keeps the order.
func unique(items []string) []string {
	var out []string
	for _, item := range items {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}
