package gittrap

import "slices"

// Crafted is a commit, or a bundle, that no honest git would make, or that no
// careless host should take.
type Crafted struct {
	Name  string // stable, in kebab-case: "path-dot-git"
	About string // what is wrong with it, in one line

	// Make is POSIX sh for sh -c, to be run in a work tree as [Trap.Plant] is. It
	// leaves the commit as HEAD of the current branch and touches no file of the
	// work tree. Where the commit is big, BOMB_BYTES in the environment says how
	// big; without it, 300 MiB.
	Make string

	// Refuse is set if an importer must refuse it. Otherwise it must take it and
	// come to no harm: follow no link, run nothing, print no control character,
	// move no ref but the one that it means to.
	Refuse bool

	// Fsck is a word of what git fsck --strict says. Where it is empty, the objects
	// are valid: git's own checks let them pass, and care is the importer's alone.
	Fsck string

	// Shows is sh that succeeds, in the tree, if the commit is what About says. It
	// may read the bundle that the variable BUNDLE names, and FIRST is the commit
	// that the agent was given. It stands in for Fsck.
	Shows string
}

// CraftedCommits returns all crafted commits. Each is meant for a fresh tree.
func CraftedCommits() []Crafted {
	crafted := slices.Concat(craftedPaths(), craftedLinks(), craftedModules(),
		craftedTrees(), craftedSizes(), craftedObjects(), craftedHistories(), craftedRefs())
	for i := range crafted {
		crafted[i].Make = prelude + forge + crafted[i].Make
	}
	return crafted
}

// BundleScript is POSIX sh that writes all objects and refs of the repository in the
// current folder to the file that the environment variable BUNDLE names. Unlike git
// bundle create it does not look into the objects, and so it takes any.
//
// Nor does git fetch look where it takes from a bundle: as of 2.39 it does so
// without fetch.fsckObjects, even if that is set, and lets in all of [CraftedCommits]
// but those that it cannot walk. What looks is git index-pack --strict on the pack, or
// git fsck --strict in a repository apart.
const BundleScript = `set -eu
{
	echo '# v2 git bundle'
	git for-each-ref --format='%(objectname) %(refname)'
	[ ! -e .git/more-refs ] || cat .git/more-refs
	echo
	git cat-file --batch-all-objects --batch-check='%(objectname)' | git pack-objects -q --stdout
} >"$BUNDLE"
`

// forge defines what the scripts below are written with:
//
//	entry MODE NAME OBJECT   prints an entry of a tree, whatever the name
//	tree                     stores the entries that it reads as a tree
//	commit                   stores the text that it reads as a commit
//	blob                     stores the text that it reads as a file
//	land TREE                commits a tree to the current branch
//	header                   prints the first lines of an honest commit
//	$file $missing $who      an object that is a file, one that nobody has, an author
const forge = `bytes() {
	for pair in $(echo "$1" | fold -w 2); do printf "\\$(printf %o "0x$pair")"; done
}
entry() { printf '%s %s\000' "$1" "$2"; bytes "$3"; }
tree() { git hash-object -w -t tree --literally --stdin; }
commit() { git hash-object -w -t commit --literally --stdin; }
blob() { git hash-object -w --stdin; }
land() { git update-ref HEAD "$(git commit-tree -m crafted -p HEAD "$1")"; }
header() { printf 'tree %s\nparent %s\n' "$(git rev-parse 'HEAD^{tree}')" "$(git rev-parse HEAD)"; }
file=$(git rev-parse HEAD:a.txt)
missing=1234567890123456789012345678901234567890
who='agent <agent@example.com> 1700000000 +0000'
`
