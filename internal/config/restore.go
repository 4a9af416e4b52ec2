package config

// Restore is Read for a run that goes on: what Config.Settings kept of it stands
// in the place of the project's file, the user's file and the environment, as it
// is, and the flags lie above. As after those, names that flags allow are added
// to the list or open themselves alone over a policy "deny", and the lists of
// protected paths, denied names and protected branches are united.
//
// Three things are taken as they are now, because no run keeps them:
// [[credential]] and [[price]] from the user's file, and notify.command and
// notify.webhook from that file and the environment.
//
// A stored use_bypass_permissions = true counts on the host only if the run was
// there already: in a sandbox nobody need have said it. A stored false always
// stays, unless a flag says otherwise.
func Restore(settings map[string][]string, getenv func(string) string, flags *Layer) (Config, []string, error) {
	var all Error
	stored, err := FromSettings(settings)
	_ = all.take(err) // it returns nothing but an *Error
	own, err := ownNow(getenv)
	if err := all.take(err); err != nil {
		return Config{}, nil, err
	}
	if len(all.Problems) > 0 {
		return Config{}, nil, &all
	}
	stored.takeOwn(own)
	stored.forgetBypass()
	s := Sources{Flags: flags, User: stored}
	if problems := s.contradictions(); len(problems) > 0 {
		return Config{}, nil, &Error{Problems: problems}
	}
	cfg, notes := Resolve(s)
	return cfg, notes, nil
}

// ownNow is what the user's file and the environment say of that which is not
// stored.
func ownNow(getenv func(string) string) (*Layer, error) {
	var all Error
	user, err := loadUser(UserFile(getenv))
	if err := all.take(err); err != nil {
		return nil, err
	}
	own := &Layer{}
	if user != nil {
		own.credentials, own.prices = user.credentials, user.prices
	}
	for _, f := range schema() {
		if !f.secret {
			continue
		}
		if s, ok := user.get(f.key); ok {
			own.put(f.key, s)
		}
		all.Problems = append(all.Problems, own.setVariable(f, getenv)...)
	}
	if len(all.Problems) > 0 {
		return nil, &all
	}
	return own, nil
}

// takeOwn adds what the user says now.
func (l *Layer) takeOwn(own *Layer) {
	l.credentials, l.prices = own.credentials, own.prices
	for key, s := range own.settings {
		l.put(key, s)
	}
}

// forgetBypass drops a stored "true" that holds in a sandbox anyway, so that it
// is not taken for the user's word when a flag leads to the host.
func (l *Layer) forgetBypass() {
	cfg, _ := Resolve(Sources{User: l})
	if !cfg.OnHost() && cfg.Execution.UseBypassPermissions {
		delete(l.settings, keyBypass)
	}
}
