#!/usr/bin/env bash
# Measures ralph and writes a table. As root, Docker is installed if it is
# missing and started on a socket and data folder of its own for the comparison.
#
#   scripts/bench.sh RALPH TABLE
set -euo pipefail
ralph=$(realpath "$1") table=$(realpath "$2")
cd "$(dirname "$0")/.."
. scripts/setup.sh
need git "git status"
need curl "the download"

image=()
docker_image() {
  need dockerd "the comparison with docker run" docker.io
  need busybox "the comparison with docker run" busybox-static
  command -v dockerd >/dev/null && command -v busybox >/dev/null || return 0
  . scripts/private-docker.sh
  if start_docker && import_busybox; then
    image=(ralph-bench)
  fi
}

if [ "$(id -u)" = 0 ]; then
  docker_image
else
  skipped+=("the comparison with docker run: only root starts a Docker of its own")
fi

{
  echo "Measured by \`make bench\` on $(nproc) processors, $(uname -sr)."
  echo
  go run ./scripts/bench "$ralph" "${image[@]}"
} | tee "$table"
[ ${#skipped[@]} = 0 ] || printf '\nskipped:\n'
for text in "${skipped[@]}"; do echo "  $text"; done
