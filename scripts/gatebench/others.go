package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// startTinyproxy runs tinyproxy with what it needs for the same work.
func startTinyproxy(s *servers) (*way, error) {
	return startOther("tinyproxy", []string{"-d", "-c"}, func(port int, dir string) string {
		lines := []string{
			fmt.Sprintf("Port %d", port), "Listen 127.0.0.1", "Allow 127.0.0.1", "Timeout 600", "MaxClients 4000",
			"LogLevel Critical", fmt.Sprintf("LogFile %q", filepath.Join(dir, "log")), "DisableViaHeader Yes",
		}
		for _, address := range s.addresses() {
			lines = append(lines, "ConnectPort "+address[strings.LastIndexByte(address, ':')+1:])
		}
		return strings.Join(lines, "\n") + "\n"
	})
}

// startSquid runs squid without its cache.
func startSquid(*servers) (*way, error) {
	return startOther("squid", []string{"-N", "-f"}, func(port int, dir string) string {
		return strings.Join([]string{
			fmt.Sprintf("http_port 127.0.0.1:%d", port), "http_access allow all", "cache deny all", "access_log none", "cache_log /dev/null",
			"cache_store_log none", "pid_filename none", "coredump_dir " + dir, "shutdown_lifetime 0 seconds", "max_filedescriptors 16384",
			"pinger_enable off", "netdb_filename none", "cache_mem 8 MB",
		}, "\n") + "\n"
	})
}

// startOther writes the configuration of a proxy into a folder of its own and
// runs it in the foreground.
func startOther(name string, flags []string, config func(port int, dir string) string) (*way, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, errMissing)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gatebench")
	if err != nil {
		return nil, err
	}
	w := &way{name: name, proxy: fmt.Sprintf("127.0.0.1:%d", port), dir: dir}
	if err := os.Chmod(dir, 0o777); err != nil { // it may become another user
		return nil, err
	}
	file := filepath.Join(dir, "conf")
	if err := os.WriteFile(file, []byte(config(port, dir)), 0o644); err != nil {
		return nil, err
	}
	return w, w.launch(append(append([]string{path}, flags...), file)...)
}
