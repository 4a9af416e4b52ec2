package gittrap

// remoteTraps bite when the tree speaks with another repository, or when what the
// agent sent is fetched without care.
func remoteTraps() []Trap {
	const fetch = "git fetch -q origin"
	return []Trap{
		{
			Name:  "config-ssh-command",
			About: "git reaches an SSH remote by a command",
			Plant: config("[core]\n\tsshCommand = \"{touch}; false\"") + origin("ssh://git@example.invalid/x"),
			Trip:  fetch,
		},
		{
			Name:  "config-git-proxy",
			About: "git reaches a git:// remote by a command",
			Plant: program("proxy", "{touch}") + config("[core]\n\tgitProxy = ./proxy") + origin("git://example.invalid/x"),
			Trip:  fetch,
		},
		{
			Name:  "remote-uploadpack",
			About: "the configuration names the program that serves a fetch",
			Plant: origin(".") + config("\tuploadpack = \"{touch}; git-upload-pack\""),
			Trip:  fetch,
		},
		{
			Name:  "remote-receivepack",
			About: "the configuration names the program that takes a push",
			Plant: origin(".") + config("\treceivepack = \"{touch}; git-receive-pack\""),
			Trip:  "git push -q origin HEAD:refs/heads/review",
		},
		{
			Name:  "remote-ext-url",
			About: "the address of a remote is a command, which the configuration allows",
			Plant: program("tool", "{touch}") + config("[protocol \"ext\"]\n\tallow = always") + origin("ext::sh ./tool"),
			Trip:  fetch,
		},
		{
			Name:  "url-instead-of-ext",
			About: "an address that the user types is replaced by a command",
			Plant: program("tool", "{touch}") + config(`
[protocol "ext"]
	allow = always
[url "ext::sh ./tool "]
	insteadOf = https://`),
			Trip: "git ls-remote https://example.invalid/x",
		},
		{
			Name:  "config-alternate-refs-command",
			About: "a fetch asks a command what a repository that objects are borrowed from has",
			Plant: `git clone -q --bare . .git/borrowed.git
git clone -q --bare . .git/upstream.git
tree=$(git -C .git/upstream.git rev-parse 'HEAD^{tree}')
git -C .git/upstream.git update-ref HEAD "$(git -C .git/upstream.git commit-tree -m upstream "$tree")"
mkdir -p .git/objects/info
echo ../borrowed.git/objects >.git/objects/info/alternates
` + config("[core]\n\talternateRefsCommand = \"{touch}; :\"") + origin(".git/upstream.git"),
			Trip: fetch,
		},
		{
			Name:  "promisor-lazy-fetch",
			About: "reading a commit fetches the objects that it lacks, from a remote that is a command",
			Plant: `lacking=$(echo lacking | git hash-object --stdin)
tree=$(printf '100644 blob %s\tlacking\n' "$lacking" | git mktree --missing)
git update-ref HEAD "$(git commit-tree -m lacking -p HEAD "$tree")"
` + config("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin") +
				origin(".") + config("\tpromisor = true\n\tuploadpack = \"{touch}; git-upload-pack\""),
			Trip: "git show HEAD",
		},
		{
			Name:  "url-instead-of-push",
			About: "a push goes to another place than the user typed",
			Kind:  Misleads,
			Plant: config("[url \"$CANARY/loot\"]\n\tinsteadOf = https://example.invalid/x"),
			Trip: `git init -q --bare "$CANARY/loot"
git push -q https://example.invalid/x HEAD:refs/heads/work
git --git-dir="$CANARY/loot" rev-parse -q --verify refs/heads/work && touch "$CANARY/{name}"`,
		},
		{
			Name:  "bundle-moves-branches",
			About: "a bundle, fetched with all its refs, moves the user's branch to an unrelated commit",
			Kind:  Misleads,
			Plant: "git branch first\ngit update-ref HEAD \"$(git commit-tree -m rewritten 'HEAD^{tree}')\"\ngit bundle create -q work.bundle --all\n",
			Trip: victim + `before=$(git -C "$victim" rev-parse -q --verify HEAD)
git -C "$victim" fetch -q --update-head-ok "$PWD/work.bundle" '+refs/*:refs/*'
[ -n "$before" ] && [ "$(git -C "$victim" rev-parse HEAD)" != "$before" ] && touch "$CANARY/{name}"`,
		},
		{
			Name:  "bundle-replaces-objects",
			About: "a bundle, fetched with all its refs, has the user's own commit shown as another",
			Kind:  Misleads,
			Plant: "git branch first\ngit replace HEAD \"$(git commit-tree -m forged 'HEAD^{tree}')\"\ngit bundle create -q work.bundle --all\n",
			Trip: victim + `git -C "$victim" fetch -q --update-head-ok "$PWD/work.bundle" '+refs/*:refs/*'
[ "$(git -C "$victim" log -1 --format=%s)" = forged ] && touch "$CANARY/{name}"`,
		},
	}
}

// origin is sh that gives the tree a remote. Lines that config appends next belong
// to the remote.
func origin(url string) string {
	return config("[remote \"origin\"]\n\turl = " + url + "\n\tfetch = +refs/heads/*:refs/remotes/origin/*")
}

// victim makes a repository of the user's beside the canary: it has checked out the
// commit that the agent was given, and calls its branch as the agent does.
const victim = `victim=$CANARY/victim
branch=$(git symbolic-ref --short HEAD)
git init -q -b "$branch" "$victim"
GIT_NO_REPLACE_OBJECTS=1 git bundle create -q "$victim/first.bundle" first
git -C "$victim" pull -q "$victim/first.bundle" first
`
