# Sourced by the other scripts: how they get what they need from the
# distribution. Nothing of the user's own is started or changed.

skipped=()
apt_updated=

# need COMMAND WHAT-FOR [PACKAGE]: make sure COMMAND is there. As root on Debian
# or Ubuntu it is installed; otherwise its absence is noted.
need() {
  command -v "$1" >/dev/null && return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    [ -n "$apt_updated" ] || { apt-get update -qq >/dev/null; apt_updated=1; }
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${3:-$1}" >/dev/null && return 0
  fi
  skipped+=("$2: $1 is missing; install the package ${3:-$1}")
  return 0
}
