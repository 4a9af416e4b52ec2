package gittrap

// craftedPaths are names of files that lead out of the tree, into the git directory
// or into the options of a command, on some file system or with some tool.
func craftedPaths() []Crafted {
	return []Crafted{
		badPath("dot-git", "a file is called .git", `.git`, "hasDotgit"),
		badPath("dot-git-upper", "a file is called .GIT, which is .git where case does not count", `.GIT`, "hasDotgit"),
		badPath("dot-git-space", "a file is called '.git ', which is .git on Windows", `.git `, "hasDotgit"),
		badPath("dot-git-short", "a file is called git~1, which is .git on Windows", `git~1`, "hasDotgit"),
		badPath("dot-git-stream", "a file is called by a stream of .git on Windows", `.git::$INDEX_ALLOCATION`, "hasDotgit"),
		badPath("dot-git-ignorable", "a file is called .git with a character that macOS ignores", `.g\342\200\214it`, "hasDotgit"),
		badPath("dot-git-backslash", "a file lies in .git on Windows", `.git\\hooks\\pre-commit`, "hasDotgit"),
		badPath("dot", "a file is called .", `.`, "hasDot:"),
		badPath("dot-dot", "a file is called ..", `..`, "hasDotdot"),
		badPath("slashes", "the name of a file holds a way out of the tree", `a/../../b`, "fullPathname"),
		badPath("absolute", "the name of a file is an absolute path", `/etc/cron.d/x`, "fullPathname"),
		badPath("empty", "a file has no name", ``, "empty filename"),
		{
			Name: "path-dot-git-folder", About: "a folder .git holds a hook", Refuse: true, Fsck: "hasDotgit",
			Make: `hook=$(printf '#!/bin/sh\n' | blob)
hooks=$(entry 100755 post-checkout "$hook" | tree)
git=$(entry 40000 hooks "$hooks" | tree)
land "$(entry 40000 .git "$git" | tree)"
`,
		},
		{
			Name: "path-dot-dot-folder", About: "a folder .. holds a file that belongs beside the tree", Refuse: true, Fsck: "hasDotdot",
			Make: "land \"$(entry 40000 .. \"$(entry 100644 b \"$file\" | tree)\" | tree)\"\n",
		},
		{
			Name: "path-backslash", About: "the name of a file leads out of the tree on Windows", Refuse: true,
			Make:  namedFile(`..\\..\\outside`),
			Shows: `[ "$(git ls-tree -z --name-only HEAD | tr -d '\000')" = '..\..\outside' ]`,
		},
		{
			Name: "path-long", About: "the name of a file has 5000 bytes, more than any file system takes", Refuse: true,
			Make:  "land \"$(entry 100644 \"$(head -c 5000 /dev/zero | tr '\\000' n)\" \"$file\" | tree)\"\n",
			Shows: "[ \"$(git ls-tree -z --name-only HEAD | wc -c)\" -eq 5001 ]",
		},
		oddPath("escape", "the name of a file steers a terminal", `a\033[2Jb`),
		oddPath("newline", "the name of a file has two lines", `a\nb`),
		oddPath("option", "the name of a file is an option", `--output=x`),
		oddPath("not-utf8", "the name of a file is not UTF-8", `a\377b`),
		oddPath("device", "the name of a file is a device on Windows", `aux.txt`),
		{
			Name: "path-fold-pair", About: "two files are one where case does not count",
			Make:  "land \"$({ entry 100644 README \"$file\"; entry 100644 readme \"$(echo other | blob)\"; } | tree)\"\n",
			Shows: "[ \"$(git ls-tree --name-only HEAD | tr '[:lower:]' '[:upper:]' | sort -u | wc -l)\" -eq 1 ]",
		},
		{
			Name: "path-normal-pair", About: "two files are one where Unicode is normalised, as on macOS",
			Make:  "land \"$({ entry 100644 \"$(printf 'e\\314\\201')\" \"$file\"; entry 100644 \"$(printf '\\303\\251')\" \"$file\"; } | tree)\"\n",
			Shows: `[ "$(git ls-tree --name-only HEAD | tr '\n' ' ')" = '"e\314\201" "\303\251" ' ]`,
		},
	}
}

// badPath is a file whose name git's own check refuses. The name is for printf.
func badPath(name, about, path, fsck string) Crafted {
	return Crafted{Name: "path-" + name, About: about, Refuse: true, Fsck: fsck, Make: namedFile(path)}
}

// oddPath is a file whose name is allowed, and to be shown and passed on with care.
func oddPath(name, about, path string) Crafted {
	return Crafted{
		Name: "path-" + name, About: about, Make: namedFile(path),
		Shows: "[ \"$(git ls-tree -z --name-only HEAD | tr -d '\\000')\" = \"$(printf -- '" + path + "')\" ]",
	}
}

// namedFile is sh that commits a file of a name for printf.
func namedFile(path string) string {
	return "land \"$(entry 100644 \"$(printf -- '" + path + "')\" \"$file\" | tree)\"\n"
}
