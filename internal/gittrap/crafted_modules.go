package gittrap

// craftedModules are files that git obeys when it meets them in a commit.
func craftedModules() []Crafted {
	return []Crafted{
		modules("url-option", "the address of a submodule is an option of git clone", "gitmodulesUrl",
			`[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch\n`),
		modules("url-newline", "the address of a submodule puts a line into what a credential helper reads", "gitmodulesUrl",
			`[submodule "x"]\n\tpath = x\n\turl = https://example.com/%%0ahost=example.org/x\n`),
		modules("path-option", "the path of a submodule is an option", "gitmodulesPath",
			`[submodule "x"]\n\tpath = --x\n\turl = https://example.com/x\n`),
		modules("name-outside", "the name of a submodule leads its git directory outside", "gitmodulesName",
			`[submodule "../../hooks"]\n\tpath = x\n\turl = https://example.com/x\n`),
		modules("update-command", "a submodule is updated by a command", "gitmodulesUpdate",
			`[submodule "x"]\n\tpath = x\n\turl = https://example.com/x\n\tupdate = !touch x\n`),
		{
			Name: "modules-link", About: "the list of submodules is a link", Refuse: true, Fsck: "gitmodulesSymlink",
			Make: "land \"$(entry 120000 .gitmodules \"$(printf ../outside | blob)\" | tree)\"\n",
		},
		{
			Name: "modules-folder", About: "the list of submodules is a folder", Refuse: true, Fsck: "gitmodulesBlob",
			Make: "land \"$(entry 100644 .gitmodules \"$(git rev-parse 'HEAD^{tree}')\" | tree)\"\n",
		},
		{
			Name: "attributes-long-line", About: "a line of attributes is longer than git reads", Refuse: true, Fsck: "gitattributesLineLength",
			Make: "line=$(head -c 5000 /dev/zero | tr '\\000' x | blob)\nland \"$(entry 100644 .gitattributes \"$line\" | tree)\"\n",
		},
		{
			Name: "attributes-link", About: "the file of attributes is a link out of the tree",
			Make:  "land \"$(entry 120000 .gitattributes \"$(printf ../outside | blob)\" | tree)\"\n",
			Shows: "case $(git ls-tree HEAD .gitattributes) in 120000*) ;; *) false ;; esac",
		},
		{
			Name: "attributes-filter", About: "attributes have files filtered by a command that the user may have set up",
			Make:  "land \"$({ entry 100644 .gitattributes \"$(echo '* filter=lfs diff=lfs merge=lfs' | blob)\"; entry 100644 a.txt \"$file\"; } | tree)\"\n",
			Shows: "git cat-file -e HEAD:.gitattributes",
		},
		{
			Name: "module-missing", About: "a submodule is a commit that nobody has",
			Make:  "land \"$(entry 160000 sub \"$missing\" | tree)\"\n",
			Shows: "case $(git ls-tree HEAD sub) in 160000*) ;; *) false ;; esac",
		},
	}
}

// modules is a commit with a list of submodules that git's own check refuses. The
// text is for printf.
func modules(name, about, fsck, text string) Crafted {
	return Crafted{
		Name: "modules-" + name, About: about, Refuse: true, Fsck: fsck,
		Make: "land \"$(entry 100644 .gitmodules \"$(printf '" + text + "' | blob)\" | tree)\"\n",
	}
}
