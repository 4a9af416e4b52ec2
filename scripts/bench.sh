#!/usr/bin/env bash
# Measures ralph with every engine and writes a table. As root, engines of our own
# are set up for it; see scripts/engines.sh.
#
#   scripts/bench.sh RALPH TABLE
set -euo pipefail
ralph=$(realpath "$1") table=$(realpath "$2")
cd "$(dirname "$0")/.."
. scripts/setup.sh
. scripts/engines.sh
need git "git status"
need curl "the download"
need bwrap "the engine bubblewrap" bubblewrap
c_compiler || skipped+=("compiling C: a C compiler is missing; install gcc")
start_engines
[ -z "${RALPH_TEST_DOCKER_HOST:-}" ] || export DOCKER_HOST=$RALPH_TEST_DOCKER_HOST

{
  echo "Measured by \`make bench\` on $(nproc) processors, $(uname -sr), as $([ "$(id -u)" = 0 ] && echo root || echo an ordinary user)."
  echo
  go run ./scripts/bench "$ralph"
} | tee "$table"
[ ${#skipped[@]} = 0 ] || printf '\nskipped:\n'
for text in "${skipped[@]}"; do echo "  $text"; done
