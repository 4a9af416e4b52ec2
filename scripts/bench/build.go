package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// builds are compilers at work.
func (s *site) builds() []measure {
	return []measure{
		{what: "`go build` of a small module, empty cache in the workspace", show: showTime, rounds: 3, sample: timed(s.goBuild)},
		{what: "`gcc -O1`, 40 files one after the other", show: showTime, rounds: 3, warmUp: true, sample: timed(s.cBuild)},
	}
}

const goProgram = `package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

func main() {
	words := strings.Fields(strings.Join(os.Args, " "))
	sort.Strings(words)
	fmt.Println(words)
}
`

// goBuild compiles a program and the part of the standard library that it needs.
func (s *site) goBuild(c *contender) error {
	dir, err := s.folder(c)
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "hello")
	err = errors.Join(os.RemoveAll(filepath.Join(dir, "cache")), os.MkdirAll(dir, 0o777))
	for name, text := range map[string]string{"go.mod": "module hello\n\ngo 1.24\n", "main.go": goProgram} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if err != nil {
		return err
	}
	script := "GOCACHE=$PWD/cache GOTOOLCHAIN=local GOENV=off GOFLAGS= CGO_ENABLED=0 " + filepath.Join(s.goRoot, "bin", "go") + " build -o hello ."
	return s.do(c, dir, "sh", "-c", script)
}

// cBuild starts many short processes that read many files.
func (s *site) cBuild(c *contender) error {
	if _, err := exec.LookPath("gcc"); err != nil {
		return err
	}
	dir, err := s.folder(c)
	if err != nil {
		return err
	}
	text := "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n"
	for i := range 20 {
		text += fmt.Sprintf("int f%d(int a) { for (int i = 0; i < a; i++) a += strlen(getenv(\"X\")) * %d; return printf(\"%%d\", a); }\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "unit.c"), []byte(text), 0o644); err != nil {
		return err
	}
	compile := strings.Repeat("gcc -O1 -c unit.c -o unit.o && ", 40) + "true"
	return s.do(c, dir, "sh", "-c", compile)
}
