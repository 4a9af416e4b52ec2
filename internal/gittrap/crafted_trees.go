package gittrap

// craftedTrees are folders that are not as git writes them.
func craftedTrees() []Crafted {
	return []Crafted{
		badTree("truncated", "a folder ends in the middle of an entry", "badTree", "printf '100644 a.txt\\000short'"),
		badTree("nul-name", "a name holds a NUL, so that the rest of it is taken for an object", "badTree",
			"{ printf '100644 a\\000b\\000'; bytes \"$file\"; }"),
		badTree("not-sorted", "a folder is not in order", "treeNotSorted",
			"{ entry 100644 b \"$file\"; entry 100644 a \"$file\"; }"),
		badTree("duplicate", "a folder holds a name twice", "duplicateEntries",
			"{ entry 100644 a \"$file\"; entry 100644 a \"$(echo other | blob)\"; }"),
		badTree("zero-padded", "a mode begins with a zero", "zeroPaddedFilemode", "entry 0100644 a \"$file\""),
		badTree("null-object", "a file is the object of zeros", "nullSha1", "entry 100644 a 0000000000000000000000000000000000000000"),
		badTree("missing-file", "a file is an object that is not there", "missing blob", "entry 100644 a \"$missing\""),
		badTree("wrong-type", "a folder is a file", ", not a ", "entry 40000 a \"$file\""),
		{
			Name: "tree-setuid", About: "the mode of a file asks for more than git gives",
			Make:  "land \"$(entry 104755 a \"$file\" | tree)\"\n",
			Shows: "case $(git cat-file tree 'HEAD^{tree}' | tr -d '\\000') in 104755*) ;; *) false ;; esac",
		},
		{
			Name: "tree-empty", About: "the commit deletes all files",
			Make:  "land \"$(git mktree </dev/null)\"\n",
			Shows: "[ -z \"$(git ls-tree HEAD)\" ]",
		},
	}
}

// badTree is a commit of a folder that git's own check refuses, and that a script
// prints.
func badTree(name, about, fsck, script string) Crafted {
	return Crafted{
		Name: "tree-" + name, About: about, Refuse: true, Fsck: fsck,
		Make: "land \"$(" + script + " | tree)\"\n",
	}
}
