package gittrap

// historyTraps have git show a history that is not what the commits say, or move
// refs that were not named.
func historyTraps() []Trap {
	return []Trap{
		{
			Name:  "grafts",
			About: "a file has git show a commit without its parents",
			Kind:  Misleads,
			Plant: hidden + "mkdir -p .git/info\ngit rev-parse HEAD >.git/info/grafts\n",
			Trip:  oneCommit,
		},
		{
			Name:  "shallow",
			About: "a file has git believe that history ends where it does not",
			Kind:  Misleads,
			Plant: hidden + "git rev-parse HEAD >.git/shallow\n",
			Trip:  oneCommit,
		},
		{
			Name:  "replace-ref",
			About: "a ref has git show another commit in place of HEAD",
			Kind:  Misleads,
			Plant: hidden + "git replace HEAD \"$(git commit-tree -m 'all is well' 'HEAD~1^{tree}')\"\n",
			Trip:  `[ "$(git show HEAD:a.txt)" = "$(git --no-replace-objects show HEAD:a.txt)" ] || touch "$CANARY/{name}"`,
		},
		{
			Name:  "commit-graph",
			About: "a cache says that a commit has the tree of its parent, and git log shows no change in it",
			Kind:  Misleads,
			Plant: hidden + "git commit -q --allow-empty -m 'all is well'\n" + forgedGraph,
			Trip: `[ "$(git log -p --format=%h)" = "$(git -c core.commitGraph=false log -p --format=%h)" ] ||
touch "$CANARY/{name}"`,
		},
		{
			Name:  "tag-shadows-branch",
			About: "a tag has the name of the branch, and git takes the tag",
			Kind:  Misleads,
			Plant: hidden + "git tag \"$(git symbolic-ref --short HEAD)\" HEAD~1\n",
			Trip: `branch=$(git symbolic-ref HEAD)
[ "$(git rev-parse "${branch#refs/heads/}")" = "$(git rev-parse HEAD)" ] || touch "$CANARY/{name}"`,
		},
		{
			Name:  "pseudo-ref-shadows-branch",
			About: "a file in the git directory has the name of the branch, and git takes the file",
			Kind:  Misleads,
			Plant: hidden + "git branch reviewed\ngit rev-parse HEAD~1 >.git/reviewed\n",
			Trip: `branch=$(git rev-parse -q --verify refs/heads/reviewed) &&
[ "$(git rev-parse reviewed)" != "$branch" ] && touch "$CANARY/{name}"`,
		},
		{
			Name:  "packed-refs-peeled",
			About: "a file that caches what tags point to lies about a tag",
			Kind:  Misleads,
			Plant: hidden + `git tag -a -m v1 v1 HEAD
tag=$(git rev-parse v1)
rm .git/refs/tags/v1
printf '# pack-refs with: peeled fully-peeled sorted \n%s refs/tags/v1\n^%s\n' "$tag" "$(git rev-parse HEAD~1)" >.git/packed-refs
`,
			Trip: `said=$(git ls-remote . 'refs/tags/v1^{}')
[ "${said%%[!0-9a-f]*}" = "$(git rev-parse HEAD~1)" ] && touch "$CANARY/{name}"`,
		},
		{
			Name:  "symbolic-branch",
			About: "a branch stands for another, which moves with it",
			Kind:  Misleads,
			Plant: "git branch stable\ngit symbolic-ref refs/heads/review refs/heads/stable\n",
			Trip: `before=$(git rev-parse stable)
git update-ref refs/heads/review "$(git commit-tree -m review 'HEAD^{tree}')"
[ "$(git rev-parse stable)" = "$before" ] || touch "$CANARY/{name}"`,
		},
		{
			Name:  "head-outside",
			About: "HEAD is a ref outside, and git commit writes a file there",
			Kind:  Misleads,
			Plant: "echo \"ref: refs/heads/../../../../../../../../../../../../../../..$CANARY/{name}\" >.git/HEAD\n",
			Trip:  "git commit -q --allow-empty -m work",
		},
		{
			Name:  "symbolic-ref-outside",
			About: "a branch stands for a ref outside, and who moves it as a tool does writes a file there",
			Kind:  Misleads,
			Plant: "echo \"ref: refs/heads/../../../../../../../../../../../../../../..$CANARY/{name}\" >.git/refs/heads/review\n",
			Trip:  "git update-ref refs/heads/review HEAD",
		},
		{
			Name:  "ref-name-is-option",
			About: "the name of a branch is an option of git log, by which it writes a file outside",
			Kind:  Misleads,
			Plant: "git update-ref \"refs/heads/--output=$CANARY/{name}\" HEAD\n",
			Trip:  "git for-each-ref --format='%(refname:short)' refs/heads | while read -r branch; do git log \"$branch\"; done",
		},
		{
			Name:  "file-name-is-option",
			About: "the path of a file is an option of git log, by which it writes a file outside",
			Kind:  Misleads,
			Plant: `path="--output=$CANARY"
mkdir -p -- "$path"
echo x >"./$path/{name}"
git add -A
git commit -q -m option
`,
			Trip: "git ls-files | xargs git log -1",
		},
	}
}

const (
	// hidden makes a commit that somebody might want to hide.
	hidden = `echo evil >a.txt
git commit -q -a -m evil
`
	// oneCommit finds that git shows one commit where HEAD names a parent.
	oneCommit = `case $(git cat-file commit HEAD) in *parent*) [ "$(git rev-list --count HEAD)" -eq 1 ] && touch "$CANARY/{name}" ;; esac`

	// forgedGraph writes the commit graph and copies the tree of HEAD~2 over that of
	// HEAD~1. The chunk CDAT has 36 bytes for each commit, in the order of their
	// names, the name of the tree first.
	forgedGraph = `git commit-graph write --reachable
graph=.git/objects/info/commit-graph
at=8 data=
while [ -z "$data" ]; do
	set -- $(od -An -tu1 -j "$at" -N 12 "$graph")
	[ "$1 $2 $3 $4" != '67 68 65 84' ] || data=$((($9 << 24) + (${10} << 16) + (${11} << 8) + ${12}))
	at=$((at + 12))
done
place() {
	at=$data
	for commit in $(git rev-parse HEAD HEAD~1 HEAD~2 | sort); do
		[ "$commit" != "$(git rev-parse "$1")" ] || echo "$at"
		at=$((at + 36))
	done
}
dd if="$graph" of=.git/tree bs=1 skip="$(place HEAD~2)" count=20 2>/dev/null
chmod u+w "$graph"
dd if=.git/tree of="$graph" bs=1 seek="$(place HEAD~1)" conv=notrunc 2>/dev/null
`
)
