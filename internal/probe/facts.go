package probe

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// FactsVariable is the environment variable that carries Facts.
const FactsVariable = "RALPH_PROBE_FACTS"

// Prefix starts the name of everything that a probe creates, so that the host
// can look for it where nothing may appear.
const Prefix = "ralph-probe-"

// Names of the probes whose end the host decides: they never finish by
// themselves.
const (
	IgnoreDeadline = "ignore-deadline"
	LeaveDaemon    = "leave-daemon"
)

// Beat is the file in the workspace to which LeaveDaemon's children write for
// as long as they live.
const Beat = Prefix + "beat"

// Facts is what the host set up for the probes. A zero value means that the
// thing is not there, and what needs it does not apply.
type Facts struct {
	// Secret stands in everything of the host that must stay unseen; finding
	// it inside is a breach.
	Secret Secret `json:"secret,omitempty"`

	HomeFile   string   `json:"home_file,omitempty"`   // in a home directory outside the mounts, holds Secret
	SiblingRun string   `json:"sibling_run,omitempty"` // a folder beside the workspace with a file that holds Secret
	HostPaths  []string `json:"host_paths,omitempty"`  // exist on the host and must not exist inside

	Workspace     string   `json:"workspace,omitempty"` // as it is called inside
	Protected     []string `json:"protected,omitempty"` // read-only paths in the workspace, relative to it
	ReadOnlyMount string   `json:"read_only_mount,omitempty"`

	HostPID int    `json:"host_pid,omitempty"` // a live process of the host with Secret in its arguments and environment
	HostKey string `json:"host_key,omitempty"` // description of a kernel key of the host that holds Secret

	HostTCP        string `json:"host_tcp,omitempty"`         // a listener on the host's loopback that greets with Secret
	HostLAN        string `json:"host_lan,omitempty"`         // the same on an address other machines can reach
	HostUnixSocket string `json:"host_unix_socket,omitempty"` // a listening socket of the host in the workspace
	DockerSocket   string `json:"docker_socket,omitempty"`    // a listening socket of the host outside the mounts
	AbstractSocket string `json:"abstract_socket,omitempty"`  // name of a listening abstract socket of the host
	Gate           string `json:"gate,omitempty"`             // the one door, as host:port
	MetadataIP     string `json:"metadata_ip,omitempty"`      // a cloud's metadata service, beside the usual ones

	// KernelLog is a recent line of the host's kernel log.
	KernelLog Secret `json:"kernel_log,omitempty"`

	// Limits of the sandbox, for the probes of kind Resources.
	MaxProcesses int   `json:"max_processes,omitempty"`
	MaxMemory    int64 `json:"max_memory,omitempty"`
	MaxDisk      int64 `json:"max_disk,omitempty"`
}

// Secret is a text that travels encoded, so that a search of the sandbox for
// the text itself does not find the environment that told the probe about it.
type Secret string

// MarshalText encodes the secret.
func (s Secret) MarshalText() ([]byte, error) {
	return []byte(hex.EncodeToString([]byte(s))), nil
}

// UnmarshalText decodes the secret.
func (s *Secret) UnmarshalText(text []byte) error {
	plain, err := hex.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("decoding a secret of the facts: %w", err)
	}
	*s = Secret(plain)
	return nil
}

// Env returns the facts as KEY=VALUE for the environment of a probe.
func (f Facts) Env() (string, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("encoding the facts: %w", err)
	}
	return FactsVariable + "=" + string(data), nil
}

// ReadFacts reads the value of FactsVariable.
func ReadFacts(value string) (Facts, error) {
	if value == "" {
		return Facts{}, errors.New("refusing to run: " + FactsVariable + " is not set, so this may not be a sandbox")
	}
	var f Facts
	if err := json.Unmarshal([]byte(value), &f); err != nil {
		return Facts{}, fmt.Errorf("reading %s: %w", FactsVariable, err)
	}
	return f, nil
}
