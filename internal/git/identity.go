package git

import (
	"context"
	"fmt"
	"strings"
)

// UserIdentity is who the user is in this repository: what GIT_AUTHOR_NAME and
// GIT_AUTHOR_EMAIL say, else the repository's configuration, else the user's own.
// Reading them executes nothing. A *RefusedError means that nobody said.
func (r *Repository) UserIdentity(ctx context.Context, getenv func(string) string) (who Identity, err error) {
	err = r.with(func(v *view) error {
		config, err := v.userConfig(ctx, getenv)
		if err != nil {
			return err
		}
		who, err = r.identity(ctx, config, getenv)
		return err
	})
	return who, err
}

func (r *Repository) identity(ctx context.Context, config *userConfig, getenv func(string) string) (Identity, error) {
	name, err := r.who(ctx, config, getenv("GIT_AUTHOR_NAME"), "user.name")
	if err != nil {
		return Identity{}, err
	}
	email, err := r.who(ctx, config, getenv("GIT_AUTHOR_EMAIL"), "user.email")
	return Identity{Name: name, Email: email}, err
}

// who is one half of an identity.
func (r *Repository) who(ctx context.Context, config *userConfig, said, key string) (string, error) {
	if said != "" {
		return said, nil
	}
	value, err := r.setting(ctx, key)
	if err == nil && value == "" {
		value, err = config.get(ctx, key)
	}
	if err != nil {
		return "", err
	}
	if value == "" {
		return "", refuse("your git identity", key+" is not set", "git config --global "+key+" ...")
	}
	return value, nil
}

// UserSigner is how the user signs commits: with the key and the program that the
// user's own configuration names. The repository's has no say, for it may have come
// with a download. A *RefusedError means that the user has not chosen a key.
func (r *Repository) UserSigner(ctx context.Context, getenv func(string) string) (signer *Signer, err error) {
	err = r.with(func(v *view) error {
		config, err := v.userConfig(ctx, getenv)
		if err != nil {
			return err
		}
		signer, err = config.signer(ctx, getenv)
		return err
	})
	return signer, err
}

// signer reads the settings that say how to sign.
func (u *userConfig) signer(ctx context.Context, getenv func(string) string) (*Signer, error) {
	s := &Signer{Env: taken(getenv, "PATH", "GNUPGHOME", "SSH_AUTH_SOCK", "GPG_TTY", "GPG_AGENT_INFO",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "APPDATA", "LOCALAPPDATA", "USERPROFILE")}
	if home := homeOf(getenv); home != "" {
		s.Env = append(s.Env, "HOME="+home)
	}
	values := map[string]string{}
	for _, key := range []string{"gpg.format", "gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "user.signingKey"} {
		value, err := u.get(ctx, key)
		if err != nil {
			return nil, err
		}
		if value != "" {
			values[key] = value
			s.Config = append(s.Config, [2]string{key, value})
		}
	}
	if err := checkSigner(values); err != nil {
		return nil, err
	}
	return s, nil
}

func checkSigner(values map[string]string) error {
	format := strings.ToLower(values["gpg.format"])
	switch {
	case values["user.signingKey"] != "", format == "ssh" && values["gpg.ssh.defaultKeyCommand"] != "":
		return nil
	case format == "ssh":
		return refuse("your signing key", "user.signingKey is not set", "git config --global user.signingKey ~/.ssh/id_ed25519.pub")
	case format == "" || format == "openpgp" || format == "x509":
		return refuse("your signing key", "user.signingKey is not set", "git config --global user.signingKey <key id>, or gpg.format ssh and the path of an ssh key")
	}
	return refuse("your signing key", fmt.Sprintf("gpg.format is %q", plain(format)), "git config --global gpg.format openpgp, ssh or x509")
}
