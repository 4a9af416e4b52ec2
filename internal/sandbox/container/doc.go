// Package container is the engine for Docker and Podman: one driver of their
// command lines, which are alike. What differs lies in one table, see flavour.
//
//	ralph ── docker run -i ── (daemon, runtime) ── ralph:keeper (process 1) ── commands
//
// A sandbox is one container, without a network, without capabilities, with a
// read-only root, and with the engine's own system call filter under ours. The
// keeper in it (package keeper) does everything else over the client's standard
// streams: the engine never runs a second command, no socket is mounted, and any
// OCI runtime will do. When ralph dies, its client dies with it, the stream ends,
// and with the keeper the container.
//
// # Files
//
// From an image that the user names, or from the host's system directories: then
// the root is an image of a few made-up files and links, imported once under a
// name made from its content, and everything else is mounted read-only. It never
// holds anything of the user's; "docker image prune -a" may delete it.
//
// # Users
//
// Nobody is root inside. With a daemon that runs as root, an ordinary user is
// himself inside; for root, the mounts are shown as those of an id that is
// nobody's (package idmap). Podman without root maps the user to himself. Docker
// without root cannot: there the caller's files are those of root inside, nobody
// else can write them, and its filter forbids to map users once more. It is refused.
//
// # Settings of the user's
//
// The files ~/.docker/config.json and containers.conf can add to every container:
// proxies with their passwords, mounts, devices, variables. They are read once, to
// learn where the engine is and with which runtime it works; everything else is
// done with an empty configuration and what was learned. Podman's storage.conf
// and an administrator's hooks stay in force, and so do Docker's daemon settings.
//
// On hosts with SELinux the default label of containers keeps them from mounts
// that were not relabelled. Ralph relabels nothing and does not switch labels off;
// such a workspace needs "chcon -Rt container_file_t" by its owner.
package container
