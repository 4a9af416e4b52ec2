# shellcheck shell=bash
# Sourced by the other scripts: how they get what they need from the
# distribution. Nothing of the user's own is started or changed.

# Go keeps its cache below HOME, which not everything that starts us sets.
[ -n "${HOME:-}" ] || { unset HOME; HOME=~; }
export HOME
# git refuses root a checkout of somebody else, and nothing here needs the stamp.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"

skipped=()
apt_updated=

# need COMMAND WHAT-FOR [PACKAGE...]: make sure COMMAND is there. Where it cannot
# be installed, its absence is noted.
need() {
  local command=$1 purpose=$2
  shift 2
  command -v "$command" >/dev/null || install_packages "${@:-$command}" ||
    skipped+=("$purpose: $command is missing; install ${*:-$command}")
}

# install_packages works for root on Debian and Ubuntu.
install_packages() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  [ -n "$apt_updated" ] || apt-get update -qq >/dev/null || return 1
  apt_updated=1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# c_compiler says whether C can be compiled: a compiler and its headers.
c_compiler() { command -v gcc >/dev/null && gcc -fsyntax-only -include stdlib.h -x c /dev/null 2>/dev/null; }
