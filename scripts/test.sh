#!/usr/bin/env bash
# All set-up and all tests. As root it installs what is missing from the
# distribution; otherwise it runs what it can. It ends with a list of what was
# skipped and why. RALPH_TEST_NO_SKIP=1 turns a skipped engine into a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh

mkdir -p build
log=build/test.log

step() { printf '\n== %s\n' "$*"; }

step "formatting"
unformatted=$(gofmt -l $(git ls-files '*.go'))
[ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }

step "go vet, for every system"
go vet ./...
make --no-print-directory cross

need git "the tests of the command line"

step "go test"
status=0
go test -count=1 -v ./... >"$log" 2>&1 || status=$?
grep -E '^(ok|FAIL|panic:|---  ?FAIL|    --- FAIL)' "$log" || true
if [ $status -ne 0 ]; then
  echo "the failures, from $log:"
  grep -vE '^ *(=== |--- PASS|--- SKIP)' "$log" | grep -B 2 -A 12 -E -- '--- FAIL|^panic:|\[build failed\]' | head -200
  exit $status
fi

if command -v gcc >/dev/null; then
  step "go test -race, where gVisor is not linked in"
  CGO_ENABLED=1 go test -count=1 -race $(go list ./internal/... | grep -v /gvisor | grep -v /cli)
else
  skipped+=("the race detector: gcc is missing")
fi

step "skipped"
awk '/^ *--- SKIP: / { name = $3; next_is_reason = 1; next } next_is_reason { sub(/^ +/, ""); print name ": " $0; next_is_reason = 0 }' "$log"
printf '%s\n' "${skipped[@]+"${skipped[@]}"}"
echo "passed: $(grep -cE '^ *--- PASS' "$log"), skipped: $(grep -cE '^ *--- SKIP' "$log" || true)"
