#!/usr/bin/env bash
# Measures the gate beside a direct connection and the proxies of the
# distribution, in one run.
#
#   scripts/gatebench.sh RESULT [FLAG...]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh
result=$1
shift
need tinyproxy "a proxy to compare with"
need squid "a proxy to compare with"
for text in "${skipped[@]}"; do echo "skipped: $text" >&2; done
mkdir -p "$(dirname "$result")"
go run ./scripts/gatebench "$@" | tee "$result"
