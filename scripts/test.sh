#!/usr/bin/env bash
# All set-up and all tests. As root it installs what is missing from the
# distribution; otherwise it runs what it can. It ends with a list of what was
# skipped and why. RALPH_TEST_NO_SKIP=1 turns a skipped engine, and a skipped test
# of the command line, into a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
export CGO_ENABLED=0 # as make builds

mkdir -p build
log=build/test.json

step() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS"; }

command -v go >/dev/null || { echo "Go is missing; see https://go.dev/dl/"; exit 1; }
need git "the tests that use git"
need curl "the test of the network from the command line"
need dbus-run-session "the tests of the keyring" dbus
need gnome-keyring-daemon "the tests of the keyring" gnome-keyring
need wget "the tests of who trusts the gate"
need python3 "the tests of who trusts the gate"
need java "the tests of who trusts the gate" openjdk-17-jdk-headless
need socat "the tests of the inner sandbox"
need rg "the tests of the inner sandbox" ripgrep
# A sandbox sees the system's programs only.
command -v srt >/dev/null || { [ "$(id -u)" = 0 ] && need npm "installing srt" &&
  npm install --global --prefix /usr/local --silent --ignore-scripts @anthropic-ai/sandbox-runtime@0.0.83; } ||
  skipped+=("the tests of the inner sandbox: srt is missing; npm install -g @anthropic-ai/sandbox-runtime@0.0.83")

step "the real agents"
if scripts/agents.sh; then
  export RALPH_AGENTS=$PWD/build/agents
else
  skipped+=("the tests with real agents: they could not be installed; see above")
fi

step "the container engines"
. scripts/engines.sh
start_engines

step "formatting"
unformatted=$(gofmt -l main.go internal scripts)
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }

step "go vet, for every system"
go vet ./...
scripts/cross.sh

if c_compiler || install_packages gcc libc6-dev; then
  step "go test -race, where gVisor is not linked in and no engine is needed"
  go list ./internal/... | grep -v -e /gvisor -e /cli -e /gittrap -e /bubblewrap -e /container | CGO_ENABLED=1 xargs go test -count=1 -timeout 20m -race
else
  skipped+=("the race detector: a C compiler is missing; install gcc libc6-dev")
fi

step "go test"
options=()
[ -z "${RALPH_TEST_NO_SKIP:-}" ] || options+=(-no-skip internal/cli)
for text in "${skipped[@]}"; do options+=(-skipped "$text"); done
go build -o build/testreport ./scripts/testreport
go test -count=1 -timeout 25m -json ./... | tee "$log" | build/testreport "${options[@]}"
