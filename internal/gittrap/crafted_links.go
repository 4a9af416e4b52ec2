package gittrap

// craftedLinks are symbolic links in commits. Git allows them all; a host that reads
// or writes through one is led astray.
func craftedLinks() []Crafted {
	return []Crafted{
		link("absolute", "a file is a link to a file of the host", "passwd", "/etc/passwd"),
		link("parent", "a file is a link out of the tree", "outside", "../../../../outside"),
		link("task-file", "the task file is a link to a file of the host", "prd.json", "/etc/passwd"),
		link("git-config", "a file is a link to the configuration of the repository", "settings", ".git/config"),
		link("loop", "a link leads to itself", "loop", "loop"),
		{
			Name: "link-then-folder", About: "a link out of the tree becomes a folder in the next commit, with a file in it",
			Make: `land "$(entry 120000 notes "$(printf ../outside | blob)" | tree)"
land "$(entry 40000 notes "$(entry 100644 file "$file" | tree)" | tree)"
`,
			Shows: `[ "$(git cat-file -t HEAD:notes)" = tree ] && [ "$(git cat-file blob HEAD~1:notes)" = ../outside ]`,
		},
		{
			Name: "folder-then-link", About: "a folder becomes a link out of the tree in the next commit",
			Make: `land "$(entry 40000 notes "$(entry 100644 file "$file" | tree)" | tree)"
land "$(entry 120000 notes "$(printf ../outside | blob)" | tree)"
`,
			Shows: `[ "$(git cat-file -t HEAD~1:notes)" = tree ] && [ "$(git cat-file blob HEAD:notes)" = ../outside ]`,
		},
		{
			Name: "link-fold-folder", About: "a link out of the tree and a folder are one where case does not count", Refuse: true,
			Make: `folder=$(entry 100644 post-checkout "$file" | tree)
land "$({ entry 40000 A "$folder"; entry 120000 a "$(printf .git/hooks | blob)"; } | tree)"
`,
			Shows: `[ "$(git ls-tree --name-only HEAD | tr a A | sort -u)" = A ]`,
		},
		{
			Name: "link-and-folder", About: "a link out of the tree and a folder have the same name", Refuse: true, Fsck: "duplicateEntries",
			Make: `folder=$(entry 100644 post-checkout "$file" | tree)
land "$({ entry 120000 a "$(printf .git/hooks | blob)"; entry 40000 a "$folder"; } | tree)"
`,
		},
	}
}

// link is a commit of one file, a link.
func link(name, about, path, target string) Crafted {
	return Crafted{
		Name: "link-" + name, About: about,
		Make:  "land \"$(entry 120000 " + path + " \"$(printf " + target + " | blob)\" | tree)\"\n",
		Shows: "case $(git ls-tree HEAD " + path + ") in 120000*) [ \"$(git cat-file blob HEAD:" + path + ")\" = " + target + " ] ;; *) false ;; esac",
	}
}
