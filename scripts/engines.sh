#!/usr/bin/env bash
# Real container engines for tests. Sourced, it offers start_engines; run as
# scripts/engines.sh COMMAND..., it runs the command with them and stops them.
#
# Nothing of the user's own is touched: Docker is a daemon of ours with its own
# socket and folders, without bridge and firewall rules; Podman gets folders and a
# configuration of ours. All of it lies in build/engines, except for the home of
# the test user, and for the runtimes, which that user must be able to reach and
# nobody but root to replace. What could not be set up is noted in `skipped`. It
# tells tests:
#
#   RALPH_TEST_DOCKER_HOST    the daemon's address
#   RALPH_TEST_DOCKER_RUNTIMES  those of runc, crun and runsc that run there
#   RALPH_TEST_PODMAN         1: root's Podman runs, as the two variables
#                             CONTAINERS_CONF and CONTAINERS_STORAGE_CONF say
#   RALPH_TEST_ROOTLESS       the user whose Podman runs, with the home directory
#                             RALPH_TEST_ROOTLESS_HOME and, as XDG_RUNTIME_DIR,
#                             RALPH_TEST_ROOTLESS_RUN
#   RALPH_TEST_IMAGE          a small Debian in all of them

engines_dir=$PWD/build/engines
engines_lib=/var/lib/ralph-test
engines_image=ralph-test-base:latest
engines_user=ralphtest
engines_home=/home/$engines_user
engines_run=/run/$engines_user
engines_docker_pid=

start_engines() {
  if [ "$(id -u)" != 0 ]; then
    skipped+=("the engines docker and podman: root is needed to set them up")
    return 0
  fi
  install_engines
  mkdir -p "$engines_dir"
  echo 'module engines' >"$engines_dir/go.mod" # or Go looks for packages in images
  trap stop_engines EXIT
  make_runtimes && make_base || return 0
  export RALPH_TEST_IMAGE=$engines_image
  start_private_docker
  set_up_podman
  set_up_rootless
}

install_engines() {
  need bwrap "the engine bubblewrap" bubblewrap
  need mmdebstrap "the image for the engines docker and podman"
  need dockerd "the engine docker" docker.io
  need docker "the engine docker" docker-cli
  need podman "the engine podman"
  need crun "the OCI runtime crun"
  need runc "the OCI runtime runc"
  need newuidmap "the engine podman without root" uidmap
}

# make_runtimes installs runsc, which is ralph, as a user does, and a crun that
# runs here: it refuses cgroups of both versions at the same time, and so is shown
# those of one.
make_runtimes() {
  mkdir -p "$engines_dir/docker" "$engines_lib"
  CGO_ENABLED=0 go build -ldflags '-s -w' -o "$engines_dir/ralph" . || return 1
  cat >"$engines_lib/crun.new" <<'EOF'
#!/bin/sh
grep -qs . /sys/fs/cgroup/unified/cgroup.controllers || exec crun "$@"
exec unshare --mount sh -c 'mount -t tmpfs none /sys/fs/cgroup/unified && exec crun "$@"' crun "$@"
EOF
  chmod 755 "$engines_lib/crun.new" && mv "$engines_lib/crun.new" "$engines_lib/crun"
  echo "{\"runtimes\": {\"crun\": {\"path\": \"$engines_lib/crun\"}}}" >"$engines_dir/docker/daemon.json"
  "$engines_dir/ralph" runtime install --json --dir "$engines_lib" --docker-config "$engines_dir/docker/daemon.json" >/dev/null
}

# make_base makes the image's file system once: this distribution, small.
make_base() {
  local tar=$engines_dir/base.tar
  [ ! -s "$tar" ] || return 0
  mmdebstrap --quiet --variant=minbase --format=tar --include=git,curl,ca-certificates,python3-minimal \
    --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/man/*' \
    --dpkgopt=path-exclude='/usr/share/locale/*' "$(. /etc/os-release && echo "$VERSION_CODENAME")" - >"$tar.new" &&
    mv "$tar.new" "$tar" && return 0
  skipped+=("the engines docker and podman: their image could not be made; see above")
  return 1
}

# import_base STAMP COMMAND...: give the image to an engine, unless it has it.
import_base() {
  local stamp=$engines_dir/$1.imported
  shift
  [ "$stamp" -nt "$engines_dir/base.tar" ] && "$@" image inspect "$engines_image" >/dev/null 2>&1 && return 0
  "$@" import - "$engines_image" <"$engines_dir/base.tar" >/dev/null && touch "$stamp"
}

# start_private_docker uses the daemon that runs already, if it is ours, and then
# leaves it running.
start_private_docker() {
  local dir=$engines_dir/docker
  local host=unix://$dir/docker.sock
  command -v dockerd >/dev/null && command -v docker >/dev/null || return 0
  if docker -H "$host" version >/dev/null 2>&1; then
    kill -HUP "$(cat "$dir/docker.pid")" # it may not know the runtimes yet
  else
    run_dockerd "$dir" "$host" || return 0
  fi
  if ! import_base docker docker -H "$host"; then
    skipped+=("the engine docker: it does not take the image; see above")
    return 0
  fi
  export RALPH_TEST_DOCKER_HOST=$host RALPH_TEST_DOCKER_RUNTIMES=
  local runtime error
  for runtime in runc crun runsc; do
    if error=$(docker -H "$host" run --rm --runtime "$runtime" --network none "$engines_image" true 2>&1); then
      RALPH_TEST_DOCKER_RUNTIMES+=${RALPH_TEST_DOCKER_RUNTIMES:+ }$runtime
    else
      skipped+=("docker with the runtime $runtime: $(reason "$error")")
    fi
  done
}

run_dockerd() {
  local dir=$1 host=$2
  rm -f "$dir/docker.pid" # of a daemon that was killed: its number may be another's now
  dockerd --config-file "$dir/daemon.json" --host "$host" --data-root "$dir/data" --exec-root "$dir/exec" \
    --pidfile "$dir/docker.pid" --bridge none --iptables=false --ip6tables=false >"$dir/log" 2>&1 &
  engines_docker_pid=$!
  local _
  for _ in $(seq 150); do
    docker -H "$host" version >/dev/null 2>&1 && return 0
    kill -0 "$engines_docker_pid" 2>/dev/null || break
    sleep 0.2
  done
  skipped+=("the engine docker: dockerd does not start: $(tail -n 1 "$dir/log")")
  return 1
}

stop_engines() {
  umount "$engines_dir/podman/storage/overlay" 2>/dev/null || true # or nobody can delete build
  [ -n "$engines_docker_pid" ] || return 0
  kill "$engines_docker_pid" 2>/dev/null || true
  wait "$engines_docker_pid" 2>/dev/null || true
  engines_docker_pid=
}

set_up_podman() {
  command -v podman >/dev/null || return 0
  local dir=$engines_dir/podman error
  mkdir -p "$dir"
  podman_settings >"$dir/containers.conf"
  printf '[storage]\ndriver = "overlay"\ngraphroot = "%s"\nrunroot = "/run/ralph-test"\n' "$dir/storage" >"$dir/storage.conf"
  local podman=(env CONTAINERS_CONF="$dir/containers.conf" CONTAINERS_STORAGE_CONF="$dir/storage.conf" podman)
  if error=$(import_base podman "${podman[@]}" 2>&1 && "${podman[@]}" run --rm --network none "$engines_image" true 2>&1); then
    export RALPH_TEST_PODMAN=1 CONTAINERS_CONF=$dir/containers.conf CONTAINERS_STORAGE_CONF=$dir/storage.conf
  else
    skipped+=("the engine podman: $(reason "$error")")
  fi
}

# podman_settings: no systemd is asked for anything. crun, Podman's own choice, is
# not for cgroups of version 1: it leaves a world-writable folder over them. The limits
# are given because Podman's own are more than a root without CAP_SYS_RESOURCE may set.
podman_settings() {
  cat <<EOF
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"

[engine.runtimes]
crun = ["$engines_lib/crun"]
runsc = ["$engines_lib/runsc"]

[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
EOF
}

# set_up_rootless makes an ordinary user with ids to give to containers. A kernel
# does not know overlays of users everywhere, and copying takes a second a
# container, so Podman is told what to use.
set_up_rootless() {
  command -v podman >/dev/null && command -v newuidmap >/dev/null || return 0
  local conf=$engines_home/.config/containers error
  id "$engines_user" >/dev/null 2>&1 || useradd --uid 54321 --create-home --shell /bin/sh "$engines_user"
  grep -q "^$engines_user:" /etc/subuid || usermod --add-subuids 200000-265535 --add-subgids 200000-265535 "$engines_user"
  install -d -m 700 -o "$engines_user" -g "$engines_user" "$engines_run" "$engines_home/.config" "$conf"
  podman_settings >"$conf/containers.conf"
  printf '[storage]\ndriver = "overlay"\n' >"$conf/storage.conf"
  chmod 644 "$conf"/*
  if error=$(import_base rootless as_rootless podman 2>&1 && as_rootless podman run --rm --network none "$engines_image" true 2>&1); then
    export RALPH_TEST_ROOTLESS=$engines_user RALPH_TEST_ROOTLESS_HOME=$engines_home RALPH_TEST_ROOTLESS_RUN=$engines_run
  else
    skipped+=("the engine podman without root: $(reason "$error")")
  fi
}

# as_rootless runs a command as the test user, in a folder that it may see.
as_rootless() {
  env -C / -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$engines_home" XDG_RUNTIME_DIR="$engines_run" \
    setpriv --reuid "$engines_user" --regid "$engines_user" --init-groups "$@"
}

# reason OUTPUT: the line that says why, or the last one.
reason() { grep -i -m 1 error <<<"$1" || tail -n 1 <<<"$1"; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  cd "$(dirname "$0")/.."
  engines_dir=$PWD/build/engines
  . scripts/setup.sh
  start_engines
  for text in "${skipped[@]}"; do echo "skipped: $text" >&2; done
  "$@"
fi
