package gittrap

// craftedObjects are commits that are not as git writes them.
func craftedObjects() []Crafted {
	return []Crafted{
		badCommit("no-author", "a commit has no author", "missingAuthor",
			`header; printf 'committer %s\n\nx\n' "$who"`),
		badCommit("two-authors", "a commit has two authors, of which tools show one", "multipleAuthors",
			`header; printf 'author %s\nauthor Somebody <s@example.com> 1 +0000\ncommitter %s\n\nx\n' "$who" "$who"`),
		badCommit("date-overflow", "the date of a commit is no number that fits", "badDateOverflow",
			`header; printf 'author agent <a@example.com> 99999999999999999999 +0000\ncommitter %s\n\nx\n' "$who"`),
		badCommit("bad-email", "the author of a commit has no address", "missingEmail",
			`header; printf 'author agent\ncommitter %s\n\nx\n' "$who"`),
		badCommit("bad-parent", "a parent is no object's name", "bad parents",
			`printf 'tree %s\nparent zzzz\nauthor %s\ncommitter %s\n\nx\n' "$(git rev-parse 'HEAD^{tree}')" "$who" "$who"`),
		badCommit("nul-header", "the head of a commit holds a NUL", "nulInHeader",
			`header; printf 'author a\000gent <a@example.com> 1 +0000\ncommitter %s\n\nx\n' "$who"`),
		badCommit("nul-message", "the message of a commit holds a NUL, at which git stops reading", "nulInCommit",
			`header; printf 'author %s\ncommitter %s\n\nall is well\000evil\n' "$who" "$who"`),
		badCommit("missing-parent", "a parent is not there", "broken link",
			`printf 'tree %s\nparent %s\nauthor %s\ncommitter %s\n\nx\n' "$(git rev-parse 'HEAD^{tree}')" "$missing" "$who" "$who"`),
		badCommit("missing-tree", "the tree is not there", "missing tree",
			`printf 'tree %s\nparent %s\nauthor %s\ncommitter %s\n\nx\n' "$missing" "$(git rev-parse HEAD)" "$who" "$who"`),
		badCommit("tree-is-file", "the tree is a file", ", not a ",
			`printf 'tree %s\nparent %s\nauthor %s\ncommitter %s\n\nx\n' "$file" "$(git rev-parse HEAD)" "$who" "$who"`),
		{
			Name: "commit-escapes", About: "the author and the message of a commit steer a terminal",
			Make: `git update-ref HEAD "$({ header; printf 'author a\033[2Jb <a@example.com> 1 +0000\ncommitter %s\n\n\033]0;title\007x\n' "$who"; } | commit)"
`,
			Shows: "[ \"$(git cat-file commit HEAD | tr -cd '\\033\\007' | wc -c)\" -eq 3 ]",
		},
		{
			Name: "commit-encoding", About: "a commit names an encoding that turns its harmless message into another",
			Make: `git update-ref HEAD "$({ header; printf 'author a <a@example.com> 1 -0000\ncommitter a <a@example.com> 1 -0000\nencoding UTF-7\n\n+AGUAdgBpAGw-\n'; } | commit)"
`,
			Shows: "case $(git cat-file commit HEAD) in *evil*) false ;; *) [ \"$(git log -1 --format=%s)\" = evil ] ;; esac",
		},
		{
			Name: "commit-signature", About: "a commit says that it is signed, with no signature",
			Make:  signedCommit,
			Shows: "case $(git cat-file commit HEAD) in *gpgsig*) ;; *) false ;; esac",
		},
	}
}

// badCommit is a commit that git's own check refuses, and that a script prints. It
// is written to the file of the branch, since git may not be willing to.
func badCommit(name, about, fsck, script string) Crafted {
	return Crafted{
		Name: "commit-" + name, About: about, Refuse: true, Fsck: fsck,
		Make: "new=$({ " + script + "; } | commit)\necho \"$new\" >\".git/$(git symbolic-ref HEAD)\"\n",
	}
}
