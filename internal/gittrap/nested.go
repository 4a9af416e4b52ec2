package gittrap

// nestedTraps are repositories within the work tree.
func nestedTraps() []Trap {
	return []Trap{
		{
			Name:  "nested-repository",
			About: "a folder is a repository of its own; who enters it obeys its configuration",
			Plant: nested + appendTo("sub/.git/config", fsmonitor),
			Trip:  "cd sub && git status",
		},
		{
			Name:  "nested-repository-linked",
			About: "git status enters a nested repository that the index knows",
			Plant: nested + linked + appendTo("sub/.git/config", fsmonitor),
			Trip:  everyday,
		},
		{
			Name:  "nested-repository-diff",
			About: "git diff enters a nested repository and cleans a file there",
			Plant: nested + linked + `mkdir -p sub/.git/info
echo 'a.txt filter=plain' >sub/.git/info/attributes
touch -t 200101010000 sub/a.txt
` + appendTo("sub/.git/config", "[filter \"plain\"]\n\tclean = \"{touch}; cat\""),
			Trip: "git diff",
		},
		{
			Name:  "nested-git-file",
			About: "a nested .git file points to a git directory that hides in the work tree",
			Plant: nested + linked + "mv sub/.git build\necho 'gitdir: ../build' >sub/.git\n" +
				appendTo("build/config", fsmonitor),
			Trip: everyday,
		},
		{
			Name:  "nested-bare-repository",
			About: "a folder without any .git looks like a bare repository, and names a work tree",
			Plant: "git clone -q --bare . cache\n" + appendTo("cache/config", "[core]\n\tbare = false\n\tworktree = ."+
				"\n"+fsmonitor),
			Trip: "cd cache && git status",
		},
		{
			Name:  "nested-bare-hook",
			About: "a hook of a bare repository in the work tree runs on a push to it",
			Plant: "git clone -q --bare . cache\nmkdir -p cache/hooks\n" + program("cache/hooks/update", "{touch}"),
			Trip:  "git push -q ./cache HEAD:refs/heads/review",
		},
		{
			Name:  "submodule-update-command",
			About: "the configuration updates a submodule by a command",
			Plant: nested + linked + "git -C sub commit -q --allow-empty -m ahead\n" + module +
				config("\tupdate = \"!{touch}; :\""),
			Trip: "git submodule update",
		},
		{
			Name:  "submodule-hook",
			About: "a hook in the git directory of a submodule runs when the submodule is brought up to date",
			Plant: nested + linked + "git -C sub commit -q --allow-empty -m ahead\n" + module +
				"mkdir -p sub/.git/hooks\n" + program("sub/.git/hooks/post-checkout", "{touch}"),
			Trip: "git submodule update",
		},
		{
			Name:  "submodule-fetch",
			About: "a fetch goes on into submodules, whose remotes are commands",
			Plant: nested + linked + module + config("[fetch]\n\trecurseSubmodules = true") + origin(".") +
				appendTo("sub/.git/config", "[remote \"origin\"]\n\turl = .\n\tuploadpack = \"{touch}; git-upload-pack\""),
			Trip: "git fetch -q origin",
		},
	}
}

const (
	// nested makes a repository in the folder sub.
	nested = `git init -q sub
echo one >sub/a.txt
git -C sub add -A
git -C sub commit -q -m one
`
	// linked commits sub as a submodule.
	linked = `git update-index --add --cacheinfo "160000,$(git -C sub rev-parse HEAD),sub"
printf '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n' >.gitmodules
git add .gitmodules
git commit -q -m submodule
`
	// module says in the configuration that sub is wanted. Lines that config appends
	// next belong to the submodule.
	module = `printf '[submodule "sub"]\n\tactive = true\n\turl = ./sub\n' >>.git/config
`
)
