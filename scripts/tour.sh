#!/usr/bin/env bash
# A guided tour of ralph exec: what a command in the sandbox can do, what it
# cannot, and at the end every way out that ralph knows, tried for real.
#
#   scripts/tour.sh RALPH
set -euo pipefail
binary=$(realpath "$1")
tour=$(mktemp -d)
trap 'rm -rf "$tour"' EXIT
chmod 755 "$tour"

# A made-up home with a secret, a project, and another run beside it.
export HOME=$tour/home RALPH_STATE_DIR=$tour/state
mkdir -p "$HOME/.ssh" "$HOME/project/.git/hooks" "$HOME/other-run"
secret="secret-$RANDOM$RANDOM"
echo "$secret" | tee "$HOME/.ssh/id_ed25519" >"$HOME/other-run/notes"
echo 'package main' >"$HOME/project/main.go"
cd "$HOME/project"

ralph() { "$binary" "$@"; }
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

# show prints the command that it reads and runs it.
show() {
  local command
  command=$(cat)
  printf '$ %s\n' "$command"
  eval "$command" || echo "(exit code $?)"
}

# Where no engine can start, its message is all there is to see.
ralph exec -- true || exit

say "1. The workspace is there, at its own path, and what is written stays."
show <<'END'
ralph exec -- sh -c 'pwd; ls; echo "made inside" > hello.txt'
END
cat hello.txt

say "2. Nothing else of this machine is."
show <<'END'
ralph exec -- sh -c 'id -un; ls -a ..; cat ../.ssh/id_ed25519; cat /etc/shadow'
END

say "3. What this machine would later obey cannot be changed, whether it exists or not."
show <<'END'
ralph exec -- sh -c 'echo "rm -rf ~" > .git/hooks/pre-commit; echo "[sandbox]" > ralph.toml; mv .git elsewhere'
END

say "4. There is no network but the hosts you name with --allow."
if command -v curl >/dev/null; then
  show <<'END'
ralph exec -- sh -c 'curl -s http://example.com/; curl -sS --noproxy "*" http://1.1.1.1/'
END
else
  echo "(curl is missing; skipped)"
fi

say "5. Limits hold, and end everything that was started."
show <<'END'
ralph exec --timeout 2s -- sh -c 'sleep 100 & sleep 100'
END
show <<'END'
ralph exec --memory 128m -- sh -c 'head -c 1G /dev/zero > /tmp/fill'
END

say "6. Now ralph attacks its own sandbox from inside."
facts=$(printf '{"secret":"%s","home_file":"%s","sibling_run":"%s","workspace":"%s","protected":[".git","ralph.toml"],"host_pid":%d,"gate":"127.0.0.1:3128"}' \
  "$(printf %s "$secret" | od -An -tx1 | tr -d ' \n')" "$HOME/.ssh/id_ed25519" "$HOME/other-run" "$PWD" $$)
ralph exec --env "RALPH_PROBE_FACTS=$facts" -- /.ralph/ralph probe all
