#!/usr/bin/env bash
# Runs every fuzz target of the tree for the given time each.
#
#   scripts/fuzz.sh 20s
set -euo pipefail
cd "$(dirname "$0")/.."
grep -r -o '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' internal | sort | while IFS=: read -r file target; do
  target=${target#func }
  echo "== ${file%/*} $target"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "./${file%/*}" </dev/null
done
