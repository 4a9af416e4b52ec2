# shellcheck shell=bash
# Sourced by scripts that need a Docker of their own. The user's is not touched:
# this one has its own socket, data folder and process id file, and ends with
# the script.

docker_dir=

# start_docker notes why Docker does not start.
start_docker() {
  docker_dir=$(mktemp -d)
  export DOCKER_HOST=unix://$docker_dir/docker.sock
  dockerd --host "$DOCKER_HOST" --data-root "$docker_dir/data" --exec-root "$docker_dir/exec" \
    --pidfile "$docker_dir/pid" --bridge none --iptables=false --ip6tables=false \
    >"$docker_dir/log" 2>&1 &
  docker_pid=$!
  trap stop_docker EXIT
  for _ in $(seq 150); do
    docker version >/dev/null 2>&1 && return 0
    kill -0 "$docker_pid" 2>/dev/null || break
    sleep 0.2
  done
  skipped+=("the comparison with docker run: dockerd does not start: $(tail -n 1 "$docker_dir/log")")
  return 1
}

stop_docker() {
  kill "$docker_pid" 2>/dev/null || true
  wait "$docker_pid" 2>/dev/null || true
  rm -rf "$docker_dir"
}

# import_busybox makes the image ralph-bench from the distribution's static
# busybox, and runs it once: a Docker that starts need not be able to.
import_busybox() {
  local root=$docker_dir/root error
  mkdir -p "$root/bin"
  cp "$(command -v busybox)" "$root/bin/busybox"
  ln -s busybox "$root/bin/true"
  error=$(tar -C "$root" -c . | docker import - ralph-bench 2>&1 >/dev/null) &&
    error=$(docker run --rm --network none ralph-bench /bin/true 2>&1) && return 0
  skipped+=("the comparison with docker run: ${error##*$'\n'}")
  return 1
}
