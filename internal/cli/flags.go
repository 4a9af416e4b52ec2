package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
)

// configFlags are the flags that set a configuration key, in all commands that
// have them.
func configFlags() map[string]string {
	return map[string]string{
		"engine":    "sandbox.engine",
		"allow":     "sandbox.network.allowed",
		"deny":      "sandbox.network.denied",
		"memory":    "sandbox.resources.memory",
		"cpus":      "sandbox.resources.cpus",
		"processes": "sandbox.resources.processes",
		"disk":      "sandbox.resources.disk",
		"timeout":   "sandbox.resources.timeout_minutes",

		"agent":    "agent.name",
		"model":    "agent.model",
		"upstream": "agent.upstream",

		"max-cost-usd":   "budget.max_cost_usd",
		"max-tokens":     "budget.max_tokens",
		"max-iterations": "budget.max_iterations",
		"max-time":       "budget.max_time",
		"budget":         "budget.name",

		"prompt":   "loop.prompt",
		"tasks":    "loop.tasks",
		"validate": "validation.command",
		"setup":    "validation.setup",

		"work":     "git.workspace",
		"checkout": "git.checkout",
		"branch":   "git.branch",
		"push":     "git.push",
		"sign":     "git.sign",
	}
}

// addSandboxFlags adds what is asked of a sandbox.
func addSandboxFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("engine", "", "what isolates the command: auto, gvisor")
	f.StringArray("allow", nil, "let the command reach HOST, *.DOMAIN, HOST:PORT, an address or an @preset")
	f.StringArray("deny", nil, "refuse what --allow or the configuration would let through")
	f.String("memory", "", "most memory, such as 2g")
	f.String("cpus", "", "most processors, such as 2")
	f.String("processes", "", "most processes and threads, such as 1000")
	f.String("disk", "", "most bytes written to disk, such as 10g")
	f.String("timeout", "", "end a command, or one iteration, after this time, such as 5m")
}

// addModelFlags adds where model calls go, and what is kept of them.
func addModelFlags(cmd *cobra.Command, t *tapes) {
	f := cmd.Flags()
	f.String("upstream", "", "where model calls go, if not to the agent's provider")
	f.StringVar(&t.record, "record", "", "write the model traffic to FILE, without secrets")
	f.StringVar(&t.replay, "replay", "", "answer model calls from FILE, offline")
}

// addBudgetFlag adds the name of a shared budget.
func addBudgetFlag(cmd *cobra.Command) {
	cmd.Flags().String("budget", "", "pay from the budget NAME, which others share")
}

// setFlags puts the flags that were given into the topmost configuration layer.
func setFlags(cmd *cobra.Command, to *config.Layer) error {
	var errs []error
	for name, key := range configFlags() {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, err := cmd.Flags().GetStringArray(name); err == nil {
			values = list
		}
		errs = append(errs, to.Set("--"+name, key, values...))
	}
	return errors.Join(errs...)
}
