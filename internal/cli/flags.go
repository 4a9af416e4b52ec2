package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
)

// configFlags are the flags that set a configuration key, in all commands that
// have them.
func configFlags() map[string]string {
	return map[string]string{
		"engine":          "sandbox.engine",
		"oci-runtime":     "sandbox.oci_runtime",
		"prefer":          "sandbox.prefer",
		"image":           "sandbox.image",
		"inner-sandbox":   "sandbox.inner",
		"readonly-secret": "sandbox.readonly_secrets",
		"allow":           "sandbox.network.allowed",
		"deny":            "sandbox.network.denied",
		"memory":          "sandbox.resources.memory",
		"cpus":            "sandbox.resources.cpus",
		"processes":       "sandbox.resources.processes",
		"disk":            "sandbox.resources.disk",
		"timeout":         "sandbox.resources.timeout_minutes",

		"execution-mode":         "execution.mode",
		"use-bypass-permissions": "execution.use_bypass_permissions",

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

// keyValue is a value of a key.
type keyValue struct{ key, value string }

// flagWords are flags that say in words of their own what keys say.
func flagWords() map[string]map[string]keyValue {
	const engine, enabled, policy = "sandbox.engine", "sandbox.enabled", "sandbox.network.policy"
	return map[string]map[string]keyValue{
		"sandbox":           {"true": {enabled, "true"}, "false": {engine, config.EngineHost}},
		"no-sandbox":        {"true": {engine, config.EngineHost}, "false": {enabled, "true"}},
		"container-runtime": {"docker": {engine, "docker"}, "podman": {engine, "podman"}},
		"container-network": {"none": {policy, config.PolicyDeny}, "default": {policy, config.PolicyAllowAll}},
	}
}

// addSandboxFlags adds what is asked of a sandbox.
func addSandboxFlags(cmd *cobra.Command) {
	addEngineFlags(cmd)
	f := cmd.Flags()
	f.StringArray("allow", nil, "let the command reach HOST, *.DOMAIN, HOST:PORT, an address or an @preset")
	f.StringArray("deny", nil, "refuse what --allow or the configuration would let through")
	f.String("memory", "", "most memory, such as 2g")
	f.String("cpus", "", "most processors, such as 2")
	f.String("processes", "", "most processes and threads, such as 1000")
	f.String("disk", "", "most bytes written to disk, such as 10g")
	f.String("timeout", "", "end a command, or one iteration, after this time, such as 5m")
}

// addEngineFlags adds what isolates, and how freely an agent acts in there.
func addEngineFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("engine", "", "what isolates: auto, gvisor, docker, podman, bubblewrap or docker-sandbox")
	f.String("prefer", "", "what auto looks for first: strength or speed")
	f.String("oci-runtime", "", "the runtime of docker and podman, such as runsc")
	f.String("image", "", "start from an image, for engines that have images")
	f.StringArray("readonly-secret", nil, "let the sandbox read a file of your home, with its real content, such as ~/.gitconfig")
	f.Bool("sandbox", false, "isolate, whatever the configuration says")
	f.Bool("no-sandbox", false, "do not isolate")
	f.String("execution-mode", "", "container: in a sandbox of any engine; host: in none")
	f.String("container-runtime", "", "docker or podman: the same as --engine")
	f.String("container-network", "", "none: reach no host; default: every public host, through the gate")
	f.Bool("use-bypass-permissions", true, "let the agent act without asking")
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
// All that is wrong with them is reported.
func setFlags(cmd *cobra.Command, to *config.Layer) error {
	keys, words := configFlags(), flagWords()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if given := flagValues(cmd, name); given != nil {
			errs = append(errs, to.Set("--"+name, keys[name], given...))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if given := flagValues(cmd, name); given != nil {
			errs = append(errs, setWord(name, given[0], words[name], to))
		}
	}
	return errors.Join(errs...)
}

// flagValues are what a flag was given; nil: nothing.
func flagValues(cmd *cobra.Command, name string) []string {
	flag := cmd.Flags().Lookup(name)
	if flag == nil || !flag.Changed {
		return nil
	}
	if list, err := cmd.Flags().GetStringArray(name); err == nil {
		return list
	}
	return []string{flag.Value.String()}
}

// setWord puts a flag into a layer by what its word means.
func setWord(name, word string, meanings map[string]keyValue, to *config.Layer) error {
	meant, ok := meanings[word]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(meanings)), " or ")
		return usageError{fmt.Errorf("--%s takes %s, not %q", name, known, word), "other engines are chosen with --engine, and hosts with --allow"}
	}
	return to.Set("--"+name, meant.key, meant.value)
}
