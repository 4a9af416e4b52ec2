package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate/model"
	"github.com/agent-loop/ralph/internal/gate/tape"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// modelAPI is an agent's way to its models for one command: the API behind the
// gate, the purse that pays for it, and what is recorded.
type modelAPI struct {
	api     *model.API
	env     []string // what leads the agent there
	phantom secret.Secret
	purse   *purse
	player  *tape.Player
	closers []func() error
}

// tapes names the files that traffic is recorded to or replayed from.
type tapes struct{ record, replay string }

func (t tapes) check(mounts []sandbox.Mount) error {
	switch {
	case t.record != "" && t.replay != "":
		return usageError{errors.New("--record and --replay exclude each other"), "record first, then replay"}
	case t.record != "":
		return checkRecord("--record", t.record, mounts)
	}
	return nil
}

// newModelAPI puts an agent's model API together. Nothing is asked of the
// provider yet, but a missing credential shows here.
func newModelAPI(ctx context.Context, w World, cfg config.Config, run string, t tapes) (_ *modelAPI, err error) {
	who, err := agent.Find(cfg.Agent.Name)
	if err != nil {
		return nil, usageError{err, ""}
	}
	m := &modelAPI{}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	source, kind, err := m.source(ctx, w, cfg, who, t)
	if err != nil {
		return nil, err
	}
	provider := model.Provider(who.Provider)
	m.phantom = model.NewPhantom(provider, kind)
	masker := secret.NewMasker(m.phantom)
	transport, err := m.transport(t, masker)
	if err != nil {
		return nil, err
	}
	if m.purse, err = openPurse(w, cfg.Budget); err != nil {
		return nil, err
	}
	m.closers = append(m.closers, m.purse.close)
	prices, err := prices(cfg.Prices)
	if err != nil {
		return nil, err
	}
	upstream := model.Upstream{Provider: provider, Phantom: m.phantom, Name: who.Name}
	if upstream.URL, err = upstreamURL(w, cfg.Agent.Upstream); err != nil {
		return nil, err
	}
	if source != nil {
		upstream.Source = maskingSource{source, masker}
	}
	m.api, err = model.New(model.Config{
		Upstreams:        []model.Upstream{upstream},
		Ledger:           m.purse.ledger,
		Run:              run,
		Prices:           prices,
		UnknownAtDearest: cfg.Budget.UnknownModel == config.UnknownDearest,
		Steer:            cfg.Budget.Steer,
		Transport:        transport,
	})
	m.env = who.Env(agent.Access{
		BaseURL: provider.BaseURL(sandbox.GateAddress),
		Phantom: m.phantom.Reveal(),
		Kind:    agentKind(kind),
	})
	return m, err
}

// upstreamURL reads where model calls go; nothing is the provider's own address.
func upstreamURL(w World, text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading agent.upstream: %w", err)
	}
	addr, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
	if u.Scheme == "http" && !local {
		fmt.Fprintf(w.Err, "ralph: note: %s is not encrypted: the credential and all calls travel in the clear\n", u.Redacted())
	}
	return u, nil
}

// source finds the credential that the gate puts in, and what kind it is. A
// replay needs none.
func (m *modelAPI) source(ctx context.Context, w World, cfg config.Config, who agent.Agent, t tapes) (token.Source, token.Kind, error) {
	if t.replay != "" {
		return nil, token.AnthropicKey, nil
	}
	source, err := credentialSource(w, cfg.Agent.Credential, who.Token)
	if err != nil {
		return nil, "", err
	}
	first, err := source.Token(ctx)
	if err != nil {
		return nil, "", err
	}
	if first.Kind != token.Bearer || cfg.Agent.Credential == "" {
		return source, first.Kind, nil
	}
	// A value from elsewhere does not say what it is; its form does.
	record, err := token.Parse(who.Token, "", first.Secret.Reveal(), time.Now())
	if err != nil {
		return source, token.Bearer, nil
	}
	return kindSource{source, record.Kind}, record.Kind, nil
}

// transport is how calls go out: to the upstream, through a recorder, or not at
// all.
func (m *modelAPI) transport(t tapes, masker *secret.Masker) (http.RoundTripper, error) {
	switch {
	case t.replay != "":
		player, err := tape.Open(t.replay, tape.Options{Mask: masker.Mask})
		if err != nil {
			return nil, err
		}
		m.player = player
		m.closers = append(m.closers, player.Close)
		return player, nil
	case t.record != "":
		recorder, err := tape.Create(t.record, model.NewTransport(), masker.Mask)
		if err != nil {
			return nil, err
		}
		m.closers = append(m.closers, recorder.Close)
		return recorder, nil
	}
	return model.NewTransport(), nil
}

func (m *modelAPI) close() error {
	var errs []error
	for _, f := range m.closers {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// report tells what was spent, and what stood in the way.
func (m *modelAPI) report(w io.Writer) {
	m.purse.report(w)
	for kind, s := range m.api.State().Signals {
		fmt.Fprintf(w, "ralph: the model API is %s", strings.ReplaceAll(string(kind), "_", " "))
		if !s.Until.IsZero() {
			fmt.Fprintf(w, " until %s", s.Until.Local().Format(time.DateTime))
		}
		fmt.Fprintln(w)
		if kind == model.BudgetSpent {
			fmt.Fprintln(w, "ralph: hint: allow more with --max-cost-usd, or for a named budget with: ralph budget set NAME --max-cost-usd AMOUNT")
		}
	}
	if m.player != nil {
		for _, mismatch := range m.player.Mismatches() {
			fmt.Fprintf(w, "ralph: replay: %v\n", mismatch)
		}
		if !m.player.Done() {
			fmt.Fprintln(w, "ralph: replay: the command asked for less than was recorded")
		}
	}
}
