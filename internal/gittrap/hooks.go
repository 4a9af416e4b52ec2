package gittrap

// Scripts that several traps share.
const (
	// older makes git doubt what its index says of a.txt, so that a mere look at
	// the tree reads the file again and writes the index.
	older = "touch -t 200101010000 a.txt\n"

	// topic makes a branch of that name, one commit ahead.
	topic = `git checkout -q -b topic
echo more >>README
git commit -q -a -m 'a topic'
git checkout -q -
`

	// pushFromClone gives the tree a commit, as a host does that hands work over.
	pushFromClone = `clone=$(mktemp -d)
git clone -q . "$clone"
git -C "$clone" push -q origin HEAD:refs/heads/handover
rm -rf "$clone"
`
)

// hookTraps are programs that git runs because of where they lie.
func hookTraps() []Trap {
	const commit = "git commit -q --allow-empty -m work"
	return []Trap{
		hook("pre-commit", "runs before each commit", "", commit),
		hook("prepare-commit-msg", "runs before the message of a commit is edited", "", commit),
		hook("commit-msg", "runs on the message of a commit", "", commit),
		hook("post-commit", "runs after each commit", "", commit),
		hook("post-rewrite", "runs after a commit was amended", "", "git commit -q --amend -m better"),
		hook("post-checkout", "runs after a branch was checked out", "", "git checkout -q -b review"),
		hook("post-index-change", "runs when git status brings the index up to date", older, "git status"),
		hook("reference-transaction", "runs when any ref changes", "", "git tag reviewed"),
		hook("post-merge", "runs after a merge or pull", topic, "git merge -q topic"),
		hook("pre-merge-commit", "runs before a merge is committed", topic, "git merge -q --no-ff --no-edit topic"),
		hook("pre-rebase", "runs before a rebase", topic, "git rebase -q topic"),
		hook("applypatch-msg", "runs when a patch is applied", "", "git format-patch --root -1 --stdout | git am"),
		hook("pre-push", "runs before a push from the tree", "", "git push -q . HEAD:refs/heads/review"),
		hook("pre-receive", "runs when somebody pushes to the tree", "", pushFromClone),
		hook("update", "runs for each ref that somebody pushes to the tree", "", pushFromClone),
		hook("post-receive", "runs after somebody pushed to the tree", "", pushFromClone),
		hook("post-update", "runs after somebody pushed to the tree", "", pushFromClone),
		{
			Name:  "hook-fsmonitor-watchman",
			About: "a hook that the configuration turns on runs at each git status",
			Plant: "mkdir -p .git/hooks\n" + program(".git/hooks/fsmonitor-watchman", "{touch}") + config(`
[core]
	fsmonitor = .git/hooks/fsmonitor-watchman`),
			Trip: "git status",
		},
		{
			Name:  "config-hooks-path",
			About: "hooks lie in the work tree, where they look like tools of the project",
			Plant: "mkdir -p tools/hooks\n" + program("tools/hooks/post-commit", "{touch}") + config(`
[core]
	hooksPath = tools/hooks`),
			Trip: "git commit -q --allow-empty -m work",
		},
		{
			Name:  "hooks-folder-link",
			About: "the folder of hooks is a link into the work tree",
			Plant: "mkdir tools\n" + program("tools/pre-commit", "{touch}") + "rm -rf .git/hooks\nln -s ../tools .git/hooks\n",
			Trip:  "git commit -q --allow-empty -m work",
		},
	}
}

// hook is the trap of one hook, installed after the tree was prepared for it.
func hook(name, about, prepare, trip string) Trap {
	return Trap{
		Name: "hook-" + name, About: about, Trip: trip,
		Plant: prepare + "mkdir -p .git/hooks\nrm -f .git/hooks/" + name + "\n" + program(".git/hooks/"+name, "{touch}"),
	}
}
