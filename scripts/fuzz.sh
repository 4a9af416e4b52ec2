#!/usr/bin/env bash
# Runs every fuzz target of the tree for the given time each.
#
#   scripts/fuzz.sh 20s
set -euo pipefail
cd "$(dirname "$0")/.."
for dir in $(grep -rl '^func Fuzz' --include='*_test.go' internal | xargs -n 1 dirname | sort -u); do
  for target in $(grep -h -o '^func Fuzz[A-Za-z0-9]*' "$dir"/*_test.go | sed 's/func //'); do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" "./$dir"
  done
done
