package gvisor

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Commands reach the sentry as JSON, which holds text only, while arguments and
// variables may be any bytes. Those that are not text travel in hexadecimal, to
// a helper inside that becomes the real command.

// asText returns a command line and environment that JSON can hold.
func asText(argv, env []string) (textArgv, textEnv []string) {
	args, vars := strings.Join(argv, "\x00"), strings.Join(env, "\x00")
	if utf8.ValidString(args) && utf8.ValidString(vars) {
		return argv, env
	}
	return []string{bytesPath, hex.EncodeToString([]byte(args)), hex.EncodeToString([]byte(vars))}, nil
}

// guestBytes undoes asText, inside. It returns only when the command cannot be
// started, with the code that a shell would give.
func guestBytes(args []string) int {
	const notFound, notExecutable = 127, 126
	if len(args) != 2 {
		return notExecutable
	}
	argv, err1 := hex.DecodeString(args[0])
	vars, err2 := hex.DecodeString(args[1])
	if err1 != nil || err2 != nil {
		return notExecutable
	}
	command, env := strings.Split(string(argv), "\x00"), strings.Split(string(vars), "\x00")
	if len(vars) == 0 {
		env = nil
	}
	for _, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			_ = os.Setenv("PATH", path)
		}
	}
	program, err := exec.LookPath(command[0])
	if err == nil {
		err = unix.Exec(program, command, env)
	}
	fmt.Fprintf(os.Stderr, "ralph: starting %q: %v\n", command[0], err)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return notFound
	}
	return notExecutable
}
