#!/usr/bin/env bash
# Compiles and vets everything, tests included, for the other systems.
set -euo pipefail
cd "$(dirname "$0")/.."
for target in linux/arm64 darwin/arm64 darwin/amd64 windows/amd64; do
  echo "GOOS=${target%/*} GOARCH=${target#*/} go vet ./..."
  CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go vet ./...
done
