package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/token"
)

// newTokenCommands are the commands for credentials. The names are long because
// they are top-level: people type them once a year.
func newTokenCommands(w World) []*cobra.Command {
	return []*cobra.Command{
		newStoreTokenCommand(w), newCheckTokenCommand(w), newEnsureTokenCommand(w),
		newGetTokenCommand(w), newForgetTokenCommand(w),
	}
}

// knownAgents are the agents whose credentials ralph knows something about.
var knownAgents = []string{"claude", "codex", "gemini", "opencode", "mini", "command"}

// tokenOptions are the flags that several commands share.
type tokenOptions struct {
	agent    string
	upstream string
}

func (o *tokenOptions) addAgentFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.agent, "agent", "", "whose credential: "+knownAgents[0]+", "+knownAgents[1]+", ..., or a name of your own (the configured agent)")
	_ = cmd.RegisterFlagCompletionFunc("agent", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return knownAgents, cobra.ShellCompDirectiveNoFileComp
	})
}

func (o *tokenOptions) addUpstreamFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.upstream, "upstream", "", "where to ask whether it is valid (the configured upstream, or the provider's own address)")
}

// wallet is the store of credentials, and which one in it is meant.
type wallet struct {
	store    *token.Store
	agent    string
	upstream string // "": the provider's own
}

func (o *tokenOptions) open(w World) (*wallet, error) {
	cfg, err := usersConfig(w, o.upstream)
	if err != nil {
		return nil, err
	}
	store, err := w.tokenStore()
	if err != nil {
		return nil, err
	}
	wal := &wallet{store: store, agent: o.agent, upstream: o.upstream}
	if wal.agent == "" {
		wal.agent = cfg.Agent.Name
	}
	if wal.upstream == "" && wal.agent == cfg.Agent.Name {
		wal.upstream = cfg.Agent.Upstream
	}
	return wal, nil
}

// usersConfig is what the user has configured. No project has a say: it would
// learn the credential from the request that checks it.
func usersConfig(w World, upstream string) (config.Config, error) {
	var flags config.Layer
	if upstream != "" {
		if err := flags.Set("--upstream", "agent.upstream", upstream); err != nil {
			return config.Config{}, err
		}
	}
	env, err := config.FromEnv(w.Getenv)
	if err != nil {
		return config.Config{}, err
	}
	user, err := usersLayer(w)
	if err != nil {
		return config.Config{}, err
	}
	cfg, _ := config.Resolve(config.Sources{Flags: &flags, Env: env, User: user})
	return cfg, nil
}

// usersLayer is the user's own file, which may be a link.
func usersLayer(w World) (*config.Layer, error) {
	path, err := filepath.EvalSymlinks(config.UserFile(w.Getenv))
	if err == nil {
		var layer *config.Layer
		if layer, err = config.Load(path); err == nil {
			return layer, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return nil, err
}

// upstreamFor is where a credential of a kind is checked.
func (wal *wallet) upstreamFor(kind token.Kind) string {
	if wal.upstream != "" {
		return wal.upstream
	}
	return kind.Upstream()
}

// checkAgent finds slips in the name of an agent. Any other name needs a kind.
func checkAgent(agent string, kind token.Kind) error {
	if kind == "" && !slices.Contains(knownAgents, agent) {
		return usageError{fmt.Errorf("there is no agent %q", agent), "for a credential of your own by that name, say --kind bearer"}
	}
	return nil
}
