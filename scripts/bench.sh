#!/usr/bin/env bash
# Measures ralph and writes a table. As root, Docker is installed if it is
# missing and started on a socket and data folder of its own for the comparison.
#
#   scripts/bench.sh RALPH TABLE
set -euo pipefail
ralph=$1 table=$2
cd "$(dirname "$0")/.."
. scripts/setup.sh
need git "git status"
need curl "the download"

image=
if [ "$(id -u)" = 0 ]; then
  need dockerd "the comparison with docker run" docker.io
  need busybox "the comparison with docker run" busybox-static
  if command -v dockerd >/dev/null && command -v busybox >/dev/null; then
    . scripts/private-docker.sh
    start_docker && image=$(import_busybox)
  fi
fi

{
  echo "Measured by \`make bench\` on $(nproc) processors, $(uname -sr)."
  echo
  go run ./scripts/bench "$ralph" $image
} | tee "$table"
printf '%s\n' "${skipped[@]+"${skipped[@]}"}"
