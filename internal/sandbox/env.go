package sandbox

import "slices"

// Home is the home directory inside, private to each sandbox.
const Home = "/home/agent"

// BaseEnv is the environment every sandbox starts from. It is built from
// nothing: a stray key or token in the caller's environment must not follow an
// agent in.
func BaseEnv(network Network) []string {
	env := []string{
		// The last is where Go's own installer puts it, which no shell's default has.
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin",
		"HOME=" + Home,
		"USER=agent",
		"LOGNAME=agent",
		"SHELL=/bin/sh",
		"LANG=C.UTF-8",
		"TMPDIR=/tmp",
	}
	if network == NetworkGate {
		env = append(env, proxyEnv()...)
	}
	return env
}

// proxyEnv points programs at the door. Tools disagree on the case of the
// names, so both are set; loopback stays direct, since test servers live there.
func proxyEnv() []string {
	const url = "http://" + GateAddress
	const direct = "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + url, "http_proxy=" + url,
		"HTTPS_PROXY=" + url, "https_proxy=" + url,
		"ALL_PROXY=" + url, "all_proxy=" + url,
		"NO_PROXY=" + direct, "no_proxy=" + direct,
		"NODE_USE_ENV_PROXY=1", // or Node's own fetch looks at none of these
	}
}

// MergeEnv returns base with the entries of extra added or put in the place of
// those with the same name.
func MergeEnv(base, extra []string) []string {
	merged := slices.Clone(base)
	for _, entry := range extra {
		name := envName(entry)
		at := slices.IndexFunc(merged, func(e string) bool { return envName(e) == name })
		if at < 0 {
			merged = append(merged, entry)
		} else {
			merged[at] = entry
		}
	}
	return merged
}

func envName(entry string) string {
	for i := range len(entry) {
		if entry[i] == '=' {
			return entry[:i]
		}
	}
	return entry
}
