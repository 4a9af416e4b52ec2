package budget

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Remove deletes a ledger and what lies beside it. A process that has it open
// refuses all spending from then on.
func Remove(path string) error {
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the ledger: %w", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("removing the ledger's owners: %w", err)
	}
	for _, entry := range entries {
		id, ok := strings.CutPrefix(entry.Name(), filepath.Base(path)+ownerMark)
		if !ok || !isOwnerID(id) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(path), entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the ledger's owners: %w", err)
		}
	}
	return nil
}
