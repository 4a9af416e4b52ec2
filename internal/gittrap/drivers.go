package gittrap

// driverTraps are commands that git runs on the content of files. Attributes say
// which files; the configuration says what command.
func driverTraps() []Trap {
	const changed = "echo more >>a.txt\n"
	return []Trap{
		{
			Name:  "diff-external",
			About: "git diff leaves the comparing to a command",
			Plant: changed + config("[diff]\n\texternal = \"{touch}; :\""),
			Trip:  "git diff",
		},
		{
			Name:  "diff-command",
			About: "git diff leaves the comparing of some files to a command",
			Plant: changed + privately("diff=plain") + config("[diff \"plain\"]\n\tcommand = \"{touch}; :\""),
			Trip:  "git diff",
		},
		{
			Name:  "diff-textconv",
			About: "git show turns some files into text by a command",
			Plant: committed("diff=plain") + config("[diff \"plain\"]\n\ttextconv = \"{touch}; cat\""),
			Trip:  "git show",
		},
		{
			Name:  "filter-clean",
			About: "git status cleans a file that it thinks has changed",
			Plant: committed("filter=plain") + older + config("[filter \"plain\"]\n\tclean = \"{touch}; cat\""),
			Trip:  everyday,
		},
		{
			Name:  "filter-clean-attributes-file",
			About: "as filter-clean, but the attributes come from a file that the configuration names",
			Plant: appendTo("team.attributes", "*.txt filter=plain") + older + config(`
[core]
	attributesFile = team.attributes
[filter "plain"]
	clean = "{touch}; cat"`),
			Trip: "git diff",
		},
		{
			Name:  "filter-smudge",
			About: "git smudges a file that it writes",
			Plant: committed("filter=plain") + config("[filter \"plain\"]\n\tsmudge = \"{touch}; cat\""),
			Trip:  "rm a.txt; git checkout -q -- a.txt",
		},
		{
			Name:  "filter-process",
			About: "git starts a program that filters many files",
			Plant: privately("filter=plain") + older + config("[filter \"plain\"]\n\tprocess = \"{touch}; :\""),
			Trip:  everyday,
		},
		{
			Name:  "merge-driver",
			About: "git merges some files by a command",
			Plant: diverged + privately("merge=plain") + config("[merge \"plain\"]\n\tdriver = \"{touch}; :\""),
			Trip:  "git merge -q topic",
		},
	}
}

// committed is sh that gives *.txt an attribute in a file that is committed with a
// change to a.txt.
func committed(attribute string) string {
	return appendTo(".gitattributes", "*.txt "+attribute) +
		"echo more >>a.txt\ngit add -A\ngit commit -q -m attributes\n"
}

// privately is sh that gives *.txt an attribute in the git directory.
func privately(attribute string) string {
	return "mkdir -p .git/info\n" + appendTo(".git/info/attributes", "*.txt "+attribute)
}
