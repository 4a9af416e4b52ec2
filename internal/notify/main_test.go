package notify

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The test binary plays the programs that notify runs. helperVar says which, and
// targetVar is the file or address that the part needs.
const (
	helperVar = "NOTIFY_TEST_HELPER"
	targetVar = "NOTIFY_TEST_TARGET"
)

func TestMain(m *testing.M) {
	part, ok := os.LookupEnv(helperVar)
	if !ok {
		os.Exit(m.Run())
	}
	parts := map[string]func() int{
		"record": record, "fail": fail, "hang": hang, "hold": hold, "leave": leave, "deaf": func() int { return 0 },
	}
	os.Exit(parts[part]())
}

// recorded is what a program got.
type recorded struct {
	Args  []string
	Stdin string
	Env   map[string]string
}

// record writes down what it got.
func record() int {
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	got := recorded{Args: os.Args[1:], Stdin: string(stdin), Env: map[string]string{}}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		got.Env[name] = value
	}
	text, err := json.Marshal(got)
	if err != nil || os.WriteFile(os.Getenv(targetVar), text, 0o600) != nil {
		return 1
	}
	return 0
}

// fail writes much and fails.
func fail() int {
	fmt.Println("the beginning" + strings.Repeat("\nnoise", 10_000))
	fmt.Fprintln(os.Stderr, "\x1b[31mcannot\x1b[0m reach the pager")
	return 3
}

// hang starts a child that holds on, and holds on itself.
func hang() int {
	if startHolder() != nil {
		return 1
	}
	return hold()
}

// leave starts a child that holds on to its output, and ends well.
func leave() int {
	if startHolder() != nil {
		return 1
	}
	return 0
}

func startHolder() error {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), helperVar+"=hold")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child.Start()
}

// hold connects to the test and lives until the test hangs up.
func hold() int {
	connection, err := net.Dial("tcp", os.Getenv(targetVar))
	if err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, connection)
	return 0
}

func helperEnv(part, target string) []string {
	return append(os.Environ(), helperVar+"="+part, targetVar+"="+target)
}

func readRecorded(t *testing.T, file string) recorded {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the program did not run: %v", err)
	}
	var got recorded
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// message is a plain one, as the loop would send it.
func message() Message {
	return Message{
		Run: "20260102-030405-ab", Status: "needs-attention", Reason: "the agent is blocked",
		Project: "shop", Agent: "claude", Iteration: 7, CostUSD: "1.25",
		Question: "Which database?\n\n1. SQLite\n2. Postgres", Next: "ralph resume 20260102-030405-ab",
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}
