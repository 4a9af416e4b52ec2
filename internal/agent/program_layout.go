package agent

import (
	"path"
	"path/filepath"
	"strings"
)

// packageFolder is the folder of the npm package that a file belongs to: the one
// below the innermost node_modules.
func packageFolder(file string) (string, bool) {
	parts := strings.Split(filepath.ToSlash(file), "/")
	for i := len(parts) - 2; i > 0; i-- {
		if parts[i-1] != "node_modules" {
			continue
		}
		end := i + 1
		if strings.HasPrefix(parts[i], "@") {
			end++
		}
		if end >= len(parts) {
			return "", false
		}
		return filepath.FromSlash(strings.Join(parts[:end], "/")), true
	}
	return "", false
}

// vendorFolder is codex's own: vendor/<platform>, which holds programs that codex
// starts beside the one that is started.
func vendorFolder(program string) (string, bool) {
	platform := filepath.Dir(filepath.Dir(program))
	return platform, filepath.Base(filepath.Dir(platform)) == "vendor"
}

// codexNative finds the program that codex's script would start, so that node
// need not be inside.
func codexNative(h Host, program string) (string, bool) {
	folder, ok := packageFolder(program)
	if !ok || filepath.Ext(program) != ".js" {
		return "", false
	}
	for _, platform := range []struct{ name, triple string }{
		{"linux-x64", "x86_64-unknown-linux-musl"},
		{"linux-arm64", "aarch64-unknown-linux-musl"},
	} {
		for _, base := range []string{
			folder,
			filepath.Join(folder, "node_modules", "@openai", "codex-"+platform.name),
			filepath.Join(filepath.Dir(folder), "codex-"+platform.name),
		} {
			for _, place := range []string{"bin", "codex"} {
				if native, err := h.Resolve(filepath.Join(base, "vendor", platform.triple, place, "codex")); err == nil {
					return native, true
				}
			}
		}
	}
	return "", false
}

// Inside tells what to mount under a folder inside, and how the program is then
// started there (see Task.Program).
func (p Program) Inside(at string) (mounts []Mount, argv []string) {
	folder := path.Join(at, filepath.Base(p.Folder))
	started := folder
	if below, err := filepath.Rel(p.Folder, p.Path); err == nil && below != "." {
		started = path.Join(folder, filepath.ToSlash(below))
	}
	mounts = []Mount{{p.Folder, folder}}
	if p.Node == "" {
		return mounts, []string{started}
	}
	node := path.Join(at, "node")
	return append(mounts, Mount{p.Node, node}), []string{node, started}
}
