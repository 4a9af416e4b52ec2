#!/usr/bin/env bash
# Installs the real agents that the tests run, pinned by version and by digest:
# their native programs alone, without an npm tree around them. What is already
# there is left alone and needs no network.
#
#   scripts/agents.sh [-d DIR] [AGENT...]
#
# AGENT is claude, codex, opencode or gemini; all that are pinned for this machine if
# none is given. DIR is build/agents if it is not given. Afterwards DIR/bin holds the
# programs, and RALPH_AGENTS=DIR, as an absolute path, makes the tests use them.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/.." && pwd)
. "$checkout/scripts/setup.sh"

dir=$checkout/build/agents
while getopts d: option; do
  case $option in
    d) dir=$OPTARG ;;
    *) echo "usage: scripts/agents.sh [-d DIR] [claude|codex|opencode|gemini...]" >&2; exit 2 ;;
  esac
done
shift $((OPTIND - 1))

die() { echo "agents: $*" >&2; exit 1; }

# platform names this machine as the packages do.
platform() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo linux-x64 ;;
    Linux-aarch64 | Linux-arm64) echo linux-arm64 ;;
    Darwin-x86_64) echo darwin-x64 ;;
    Darwin-arm64) echo darwin-arm64 ;;
    *) echo other ;;
  esac
}

# The pins: agent, platform, where the archive keeps the program, the package, and
# the SHA-512 that its archive must have, as npm writes it. A new version means new
# digests: npm view PACKAGE dist.integrity. gemini is a script that needs node; ralph
# knows what belongs to a script by its package's place below node_modules.
pins() {
  cat <<'END'
claude linux-x64 claude @anthropic-ai/claude-code-linux-x64@2.1.197 rIlKmrY0QMyHgPRX/MYWNj039vbypICvI9jVe3rs9Xy2RnNklySjyPxqh62QadznzoftEO23uYQ1tFePcQ//bg==
claude linux-arm64 claude @anthropic-ai/claude-code-linux-arm64@2.1.197 sx6SoGj3MNR5CV+YDkNtbLHXa1tn3G8qcYFgm1gnvOi9ODQUKbhiPfankJfkTMDVekOvnKJhm6i9hGFIPzp7cQ==
claude darwin-x64 claude @anthropic-ai/claude-code-darwin-x64@2.1.197 DOPeGTQqJWVENJsxwMxJtLOx+7OBINEDg9trQldlJR1nBssaYzNj1WWxp37JYSBRjeYLhqLipvDqEA0LMglL7A==
claude darwin-arm64 claude @anthropic-ai/claude-code-darwin-arm64@2.1.197 1FOVhJzkKGWgOEEsvaK3ylCEmjKeJiXwfKl7RtNEbiDj7OxhRQ1G1CLN0HGDTTq1QwY+Dm2x1Yscdv5NfobAxQ==
codex linux-x64 vendor/*/bin/codex @openai/codex@0.166.0-linux-x64 CxDm3+D1cpbGJeHrdzINoG+3wn9BVncP4qpZaaNYkxe8iPtRJOYyCJnnPoVjWRIBvI9vPKbRoifsMSA5xDaUpw==
codex linux-arm64 vendor/*/bin/codex @openai/codex@0.166.0-linux-arm64 w0ScAsBr9aZKtIFrh6HN6KU2yjKKeSCzYfbb7DB0Ccj4BYPzeZtUeQprbycLCwuX3AFQdbdjapmLho2iot74jQ==
codex darwin-x64 vendor/*/bin/codex @openai/codex@0.166.0-darwin-x64 Vj5wXJPizKmrzNtnRNQf9PP6FJkG3iJU/UO3NE4WvkENZGoQfmImdwf4MVRI5NgwjSuC6LT0HbBRHPVVnwGHuw==
codex darwin-arm64 vendor/*/bin/codex @openai/codex@0.166.0-darwin-arm64 5fWH6qqUInACcRADIewjlnRxDb4QLe0uriwehiZz0+viuAAB8I+WWefqw4xwHvyKaxeiGX4uK56+vrgfvFk3FQ==
opencode linux-x64 bin/opencode opencode-linux-x64@1.18.33 q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==
gemini * node_modules/@google/gemini-cli/bundle/gemini.js @google/gemini-cli@0.61.0 dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==
END
}

# pin AGENT: program, package and digest for this machine.
pin() {
  local agent system program package digest
  while read -r agent system program package digest; do
    # shellcheck disable=SC2053 # the platform may be a pattern
    if [ "$agent" = "$1" ] && [[ $(platform) = $system ]]; then
      echo "$program $package $digest"
      return
    fi
  done < <(pins)
  return 1
}

if [ $# -eq 0 ]; then
  for agent in claude codex opencode gemini; do
    if pin "$agent" >/dev/null; then set -- "$@" "$agent"; fi
  done
fi

digest() { openssl dgst -sha512 -binary "$1" | base64 | tr -d '\n'; }

# download PACKAGE DIGEST FOLDER PLACE: fetch the archive with npm's own settings,
# check it against the pin, and unpack it at the place in the folder. No script of the
# package runs.
download() {
  local package=$1 wanted=$2 folder=$3 place=$3/$4 archive got
  archive=$folder/$(npm pack --loglevel error --ignore-scripts --cache "$folder/cache" --pack-destination "$folder" "$package") ||
    die "$package could not be downloaded"
  got=$(digest "$archive")
  [ "$got" = "$wanted" ] || die "$package has the digest $got, not the pinned $wanted"
  mkdir -p "$place"
  # codex brings 53 MB for voice and gemini 25 MB for a browser and of documentation,
  # which nothing unattended uses.
  tar -xzf "$archive" -C "$place" --strip-components=1 --no-same-owner \
    --exclude '*/codex-resources/voice' --exclude '*/bundle/bundled' --exclude '*/bundle/docs'
}

# install_agent AGENT: nothing, if its pin is the one that lies there already.
install_agent() {
  local agent=$1 program package wanted found place=package
  read -r program package wanted < <(pin "$agent") || die "no $agent is pinned for $(uname -sm)"
  if [ "$(cat "$dir/$agent/.digest" 2>/dev/null)" = "$wanted" ] && [ -e "$dir/bin/$agent" ]; then
    return
  fi
  need npm "installing $agent"
  need openssl "checking $agent"
  [ ${#skipped[@]} -eq 0 ] || die "${skipped[0]}"
  case $program in node_modules/*) place=package/node_modules/${package%@*} ;; esac
  download "$package" "$wanted" "$work" "$place"
  found=$(cd "$work/package" && compgen -G "$program") || die "$package holds no $program"
  chmod 755 "$work/package/$found"
  echo "$wanted" >"$work/package/.digest"
  rm -rf "${dir:?}/$agent"
  mv "$work/package" "$dir/$agent"
  ln -sfn "../$agent/$found" "$dir/bin/$agent"
  rm -rf "${work:?}"/*
  echo "agents: $package is in $dir/$agent, $(du -sh "$dir/$agent" | cut -f1)"
}

mkdir -p "$dir/bin"
# Beside the goal, so that the last step is a rename.
work=$(mktemp -d "$dir/.new.XXXXXX")
trap 'rm -rf "$work"' EXIT
for agent; do install_agent "$agent"; done
