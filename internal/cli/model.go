package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"slices"
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
	access  agent.Access
	env     []string // what leads the agent there
	phantom secret.Secret
	masker  *secret.Masker // takes the credentials out of what is written
	purse   *purse
	player  *tape.Player
	closers []func() error
}

// tapes says where traffic is recorded to or replayed from.
type tapes struct {
	record, replay string       // files
	player         *tape.Player // a tape that is open already, instead of replay
}

// plays tells whether the model is a recording.
func (t tapes) plays() bool { return t.replay != "" || t.player != nil }

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
func newModelAPI(ctx context.Context, w World, cfg config.Config, wish gateWishes) (*modelAPI, error) {
	who, err := agent.Find(cfg.Agent.Name)
	if err != nil {
		return nil, usageError{err, ""}
	}
	m := &modelAPI{masker: wish.masker}
	if err := m.assemble(ctx, w, cfg, who, wish); err != nil {
		return nil, errors.Join(err, m.close())
	}
	return m, nil
}

func (m *modelAPI) assemble(ctx context.Context, w World, cfg config.Config, who agent.Agent, wish gateWishes) error {
	t := wish.tapes
	upstream, kind, err := m.upstream(ctx, w, cfg, who, t)
	if err != nil {
		return err
	}
	prices, err := prices(cfg.Prices)
	if err != nil {
		return err
	}
	if m.purse, err = openPurse(ctx, w, payable(cfg.Budget, t), wish.ledger); err != nil {
		return err
	}
	m.purse.play = t.plays()
	m.closers = append(m.closers, m.purse.close)
	transport, err := m.transport(t, kind)
	if err != nil {
		return err
	}
	m.access = agent.Access{
		BaseURL: upstream.Provider.BaseURL(sandbox.GateAddress),
		Phantom: m.phantom.Reveal(),
		Kind:    agentKind(kind),
	}
	m.env = who.Env(m.access)
	m.api, err = model.New(model.Config{
		Upstreams:        []model.Upstream{upstream},
		Ledger:           m.purse.ledger,
		Run:              wish.run,
		Prices:           prices,
		UnknownAtDearest: cfg.Budget.UnknownModel == config.UnknownDearest,
		ProviderMayFetch: cfg.Agent.ProviderFetch,
		Steer:            cfg.Budget.Steer,
		Transport:        transport,
	})
	return err
}

// upstream is where calls go and with which credential, and what kind that is.
func (m *modelAPI) upstream(ctx context.Context, w World, cfg config.Config, who agent.Agent, t tapes) (model.Upstream, token.Kind, error) {
	up := model.Upstream{Provider: model.Provider(who.Provider), Name: who.Name}
	source, kind, err := m.source(ctx, w, cfg, who, t)
	if err != nil {
		return up, "", err
	}
	if source != nil {
		up.Source = maskingSource{source, m.masker}
	}
	m.phantom = model.NewPhantom(up.Provider, kind)
	m.masker.Add(m.phantom)
	up.Phantom = m.phantom
	up.URL, err = upstreamURL(cfg.Agent.Upstream, who)
	return up, kind, err
}

// payable is the budget without the name of a shared one if nothing is paid.
func payable(b config.Budget, t tapes) config.Budget {
	if t.plays() {
		b.Name = ""
	}
	return b
}

// upstreamURL reads where model calls go; nothing is the provider's own address.
// It refuses where a credential would be in wrong hands: in the clear on the way,
// and with another provider, which a project can name.
func upstreamURL(text string, who agent.Agent) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading agent.upstream: %w", err)
	}
	if err := token.CheckAddress(text); err != nil {
		return nil, usageError{fmt.Errorf("agent.upstream: %w", err), ""}
	}
	own := ownKind(who).Upstream()
	for _, kind := range token.Kinds() {
		if other := kind.Upstream(); other != own && other == "https://"+strings.ToLower(u.Hostname()) {
			return nil, usageError{fmt.Errorf("agent.upstream: %s is another provider's address, and would be sent the credential for %s", u.Host, who.Name), "leave it out, or name a gateway"}
		}
	}
	return u, nil
}

// source finds the credential that the gate puts in, and what kind it is. A
// replay needs none, but the agent must believe in the recorded kind.
func (m *modelAPI) source(ctx context.Context, w World, cfg config.Config, who agent.Agent, t tapes) (token.Source, token.Kind, error) {
	if t.plays() {
		kind, err := m.openTape(t, who)
		return nil, kind, err
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
	if record, err := token.Parse(who.Token, "", first.Secret.Reveal(), time.Now()); err == nil {
		return kindSource{source, record.Kind}, record.Kind, nil
	}
	return source, token.Bearer, nil
}

// openTape opens a tape to replay and returns the kind of credential it was
// recorded with.
func (m *modelAPI) openTape(t tapes, who agent.Agent) (token.Kind, error) {
	m.player = t.player
	if m.player == nil {
		player, err := tape.Open(t.replay, tape.Options{Mask: m.masker.Mask})
		if err != nil {
			return "", err
		}
		m.player = player
		m.closers = append(m.closers, player.Close)
	}
	if kind, err := token.ParseKind(m.player.Credential()); err == nil {
		return kind, nil
	}
	return ownKind(who), nil
}

// ownKind is the kind of the keys of an agent's provider.
func ownKind(who agent.Agent) token.Kind {
	switch who.Provider {
	case agent.OpenAI:
		return token.OpenAIKey
	case agent.Google:
		return token.GeminiKey
	}
	return token.AnthropicKey
}

// transport is how calls go out: to the upstream, through a recorder, or not at
// all.
func (m *modelAPI) transport(t tapes, kind token.Kind) (http.RoundTripper, error) {
	switch {
	case m.player != nil:
		return m.player, nil
	case t.record != "":
		recorder, err := tape.Create(t.record, model.NewTransport(), m.masker.Mask)
		if errors.Is(err, fs.ErrExist) {
			return nil, usageError{err, "a tape is one recording: choose another name, or remove it"}
		}
		if err != nil {
			return nil, err
		}
		recorder.Credential = string(kind)
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
	signals := m.api.State().Signals
	for _, kind := range slices.Sorted(maps.Keys(signals)) {
		reportSignal(w, signals[kind])
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

func reportSignal(w io.Writer, s model.Signal) {
	if s.Kind == model.BudgetSpent {
		fmt.Fprintln(w, "ralph: a model call was refused: it did not fit into the budget")
		fmt.Fprintln(w, "ralph: hint: allow more with --max-cost-usd, or for a named budget with: ralph budget set NAME --max-cost-usd AMOUNT")
		return
	}
	fmt.Fprintf(w, "ralph: the model API is %s", s.Kind)
	if !s.Until.IsZero() {
		fmt.Fprintf(w, " until %s", s.Until.Local().Format(time.DateTime))
	}
	fmt.Fprintln(w)
}
