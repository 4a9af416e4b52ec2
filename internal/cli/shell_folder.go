package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/wholefile"
)

const (
	// shellsFolder is where the folders of shells are, in the state folder.
	shellsFolder = "shells"
	// maxSettings is far more than an agent's settings ever are. What is longer is
	// not read.
	maxSettings = 8 << 20
)

// private are the mounts from ralph's own folder: the agent's sessions, which
// outlive the sandbox, and nothing, laid over the records of runs. No user could
// ask for them, so that they are added when the user's own have been checked.
func (s *shell) private(state string, begun agent.Interaction) ([]sandbox.Mount, error) {
	shells := filepath.Join(state, shellsFolder)
	// Others may pass through, not look, as in the state folder itself.
	if err := os.MkdirAll(shells, 0o711); err != nil {
		return nil, fmt.Errorf("making the folder of shells: %w", err)
	}
	if begun.Keeps == "" {
		return nil, nil
	}
	folder := filepath.Join(shells, s.folderName())
	if err := prepareFolder(folder, begun.Settings); err != nil {
		return nil, fmt.Errorf("preparing the agent's sessions in %s: %w", folder, err)
	}
	return []sandbox.Mount{{Source: folder, Target: path.Join(sandbox.Home, begun.Keeps), Exclusive: true}}, nil
}

// folderName is that of the project and the agent together: agents do not read
// each other's sessions, and projects must not.
func (s *shell) folderName() string {
	sum := sha256.Sum256([]byte(s.spec.Project))
	return hex.EncodeToString(sum[:12]) + "-" + s.who.Name
}

// prepareFolder makes a folder of sessions, or mends it, and puts the settings in
// it right. All that is in it agents wrote: nothing is followed out of it and no
// size is believed. No agent is at work in it now.
func prepareFolder(folder string, settings map[string]func([]byte) ([]byte, error)) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(folder, 0o700); err != nil { // an agent may have locked us out
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for name, change := range settings {
		text, err := change(readSettings(root, name))
		if err != nil {
			return fmt.Errorf("changing %s: %w", name, err)
		}
		if err := wholefile.Replace(root, name, text, 0o600); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// readSettings reads a file that an agent wrote. What is no plain file of a
// sensible size is nothing.
func readSettings(root *os.Root, name string) []byte {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil
	}
	file, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSettings))
	if err != nil {
		return nil
	}
	return text
}
