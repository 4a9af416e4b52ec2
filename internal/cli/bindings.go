package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/trust"
)

// bindings are the user's [[credential]]s for one command: what the gate puts
// into requests, and what the sandbox must know for that.
type bindings struct {
	credentials  *gate.Credentials
	placeholders []secret.Secret // what the sandbox holds in the place of secrets
	env          []string
	mounts       []sandbox.Mount
	folder       string // of the files that the sandbox trusts; empty: none
}

// newBindings takes the credentials whose hosts the policy lets the command
// reach; the others would do nothing.
func newBindings(w World, cfg config.Config, policy *gate.Policy, rootfs string, masker *secret.Masker) (_ *bindings, err error) {
	b := &bindings{}
	list := cfg.Credentials
	if len(list) > 0 && cfg.Sandbox.Network.Policy == config.PolicyAllowAll {
		fmt.Fprintln(w.Err, "ralph: note: [[credential]] is not used under the network policy allow-all")
		list = nil
	}
	var bound []gate.Credential
	for _, c := range list {
		c.Hosts = slices.DeleteFunc(slices.Clone(c.Hosts), func(host string) bool { return !policy.Reaches(host) })
		if len(c.Hosts) == 0 {
			continue
		}
		credential, err := bind(w, c, masker)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Origin, err)
		}
		bound = append(bound, credential)
		b.addPlaceholder(c)
	}
	if len(bound) == 0 {
		return b, nil
	}
	if b.credentials, err = gate.NewCredentials(policy, bound); err != nil {
		return nil, usageError{err, "see [[credential]] in your configuration file"}
	}
	return b, b.trust(w, rootfs)
}

func bind(w World, c config.Credential, masker *secret.Masker) (gate.Credential, error) {
	credential := gate.Credential{
		Name: c.Name, Hosts: c.Hosts, Methods: c.Methods, Paths: c.Paths,
		Header: c.Header, Format: c.Format, Basic: c.Basic, Elsewhere: gate.Elsewhere(c.Elsewhere),
	}
	if c.From == "" {
		return credential, nil
	}
	source, err := credentialSource(w, c.From, c.Name)
	if err != nil {
		return credential, err
	}
	credential.Source = func(ctx context.Context) (secret.Secret, error) {
		found, err := source.Token(ctx)
		masker.Add(found.Secret)
		return found.Secret, err
	}
	return credential, nil
}

// addPlaceholder makes a value for the variable that a tool insists on. It is
// random, and in the form that GitHub's tools check.
func (b *bindings) addPlaceholder(c config.Credential) {
	if c.Env == "" {
		return
	}
	value := "ghp_" + rand.Text() + rand.Text()[:10]
	b.placeholders = append(b.placeholders, secret.New(value))
	b.env = append(b.env, c.Env+"="+value)
}

// trust makes the sandbox trust the authority that opens TLS for these hosts.
func (b *bindings) trust(w World, rootfs string) error {
	root := rootfs
	if root == "" {
		root = "/"
	}
	roots, err := trust.Roots(root, w.Getenv("SSL_CERT_FILE"))
	if err != nil {
		return err
	}
	places, err := trust.Places(root)
	if err != nil {
		return err
	}
	if b.folder, err = makeGuestFolder(w, "trust"); err != nil {
		return fmt.Errorf("making a folder for certificates: %w", err)
	}
	// Whoever runs in the sandbox must be able to read what is in it.
	if err := errors.Join(os.Chmod(b.folder, 0o755), trust.Write(b.folder, b.credentials.Certificate(), roots)); err != nil {
		return err
	}
	b.env = append(b.env, trust.Env(trust.Dir, sandbox.GateAddress)...)
	b.mounts = append(b.mounts, sandbox.Mount{Source: b.folder, Target: trust.Dir, ReadOnly: true, Exclusive: true})
	for _, place := range places {
		b.mounts = append(b.mounts, sandbox.Mount{Source: filepath.Join(b.folder, trust.BundleFile), Target: place, ReadOnly: true})
	}
	return nil
}

// makeGuestFolder makes a folder for a sandbox to read, and removes those of its kind
// that ralphs left that were killed.
func makeGuestFolder(w World, kind string) (string, error) {
	state, err := w.makeStateDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(state, kind)
	if err := os.MkdirAll(all, 0o711); err != nil {
		return "", err
	}
	left, _ := os.ReadDir(all)
	for _, entry := range left {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > ownLifetime {
			_ = os.RemoveAll(filepath.Join(all, entry.Name()))
		}
	}
	return os.MkdirTemp(all, "")
}

func (b *bindings) close() error {
	if b == nil || b.folder == "" {
		return nil
	}
	return os.RemoveAll(b.folder)
}
