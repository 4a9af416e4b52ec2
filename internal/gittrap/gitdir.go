package gittrap

// gitDirTraps are about which folders git takes for the repository.
func gitDirTraps() []Trap {
	return []Trap{
		{
			Name:  "git-folder-replaced",
			About: "the git directory was moved away and another put in its place",
			Plant: "cp -R .git .git-new\nmv .git .git-old\nmv .git-new .git\n" + config(fsmonitor),
			Trip:  everyday,
		},
		{
			Name:  "git-folder-is-file",
			About: "a file in place of the git directory points to a folder of the work tree",
			Plant: "mv .git build\necho 'gitdir: build' >.git\n" + appendTo("build/config", fsmonitor),
			Trip:  everyday,
		},
		{
			Name:  "git-folder-is-link",
			About: "a link in place of the git directory points to a folder of the work tree",
			Plant: "mv .git build\nln -s build .git\n" + config(fsmonitor),
			Trip:  everyday,
		},
		{
			Name:  "git-commondir",
			About: "a file in the git directory has the configuration, all of it, read from elsewhere",
			Plant: "cp -R .git build\necho ../build >.git/commondir\n" + appendTo("build/config", fsmonitor),
			Trip:  everyday,
		},
		{
			Name:  "git-worktree-entry",
			About: "a second work tree lies in the first, and shares its configuration",
			Plant: "git worktree add -q build\n" + config(fsmonitor),
			Trip:  "cd build && git status",
		},
		{
			Name:  "git-folder-outside",
			About: "what is committed here is committed to another repository of the user's",
			Kind:  Misleads,
			Plant: "rm -rf .git\necho \"gitdir: $CANARY/victim/.git\" >.git\n",
			Trip: anotherProject + `git add -A; git commit -q -m work
[ "$(git -C "$CANARY/victim" log -1 --format=%s)" = work ] && touch "$CANARY/{name}"`,
		},
		{
			Name:  "config-worktree-outside",
			About: "the configuration says that the work tree is elsewhere, and git writes files there",
			Kind:  Misleads,
			Plant: "echo x >{name}\ngit add -A\ngit commit -q -m work\n" + config("[core]\n\tworktree = $CANARY"),
			Trip:  "git reset -q --hard",
		},
		{
			Name:  "worktree-repair-outside",
			About: "a record of a second work tree has git write a .git file into a folder of the user's",
			Kind:  Misleads,
			Plant: "git worktree add -q build\necho \"$CANARY/notes/.git\" >.git/worktrees/build/gitdir\nrm -rf build\n",
			Trip: `mkdir "$CANARY/notes"
git worktree repair
[ -e "$CANARY/notes/.git" ] && touch "$CANARY/{name}"`,
		},
		{
			Name:  "objects-alternates",
			About: "objects are borrowed from another repository of the user's, so that a commit here shows a file of there",
			Kind:  Misleads,
			Plant: `secret=$(echo 'password=secret' | git hash-object --stdin)
tree=$(printf '100644 blob %s\tstolen\n' "$secret" | git mktree --missing)
git update-ref HEAD "$(git commit-tree -m work -p HEAD "$tree")"
mkdir -p .git/objects/info
echo "$CANARY/victim/.git/objects" >.git/objects/info/alternates
`,
			Trip: anotherProject + `[ "$(git show HEAD:stolen)" = password=secret ] && touch "$CANARY/{name}"`,
		},
	}
}

// anotherProject makes a repository beside the canary that has nothing to do with
// the tree.
const anotherProject = `git init -q "$CANARY/victim"
echo password=secret >"$CANARY/victim/secret"
git -C "$CANARY/victim" add -A
git -C "$CANARY/victim" commit -q -m mine
`
