package gittrap

// reviewTraps hide a change from a person, or from a tool that archives, compares
// or lists it with git.
func reviewTraps() []Trap {
	return []Trap{
		{
			Name:  "index-assume-unchanged",
			About: "a flag in the index hides that a file has changed",
			Kind:  Misleads,
			Plant: "git update-index --assume-unchanged a.txt\necho evil >a.txt\n",
			Trip:  clean,
		},
		{
			Name:  "index-skip-worktree",
			About: "a flag in the index hides that a file has changed",
			Kind:  Misleads,
			Plant: "git update-index --skip-worktree a.txt\necho evil >a.txt\n",
			Trip:  clean,
		},
		{
			Name:  "info-exclude",
			About: "a file in the git directory hides new files",
			Kind:  Misleads,
			Plant: "mkdir -p .git/info\necho evil >evil\necho evil >>.git/info/exclude\n",
			Trip:  clean,
		},
		{
			Name:  "config-hides-untracked",
			About: "the configuration hides new files",
			Kind:  Misleads,
			Plant: "echo evil >evil\n" + config("[status]\n\tshowUntrackedFiles = no"),
			Trip:  clean,
		},
		{
			Name:  "attributes-no-diff",
			About: "an attribute has git show that a file changed, but not how",
			Kind:  Misleads,
			Plant: evil("* -diff"),
			Trip:  lacksEvil("git show"),
		},
		{
			Name:  "attributes-export-ignore",
			About: "an attribute leaves a file out of an archive of the commit",
			Kind:  Misleads,
			Plant: evil("a.txt export-ignore"),
			Trip:  lacksEvil("git archive HEAD | tr -d '\\000'"),
		},
		{
			Name:  "attributes-export-subst",
			About: "an attribute puts into an archive what is not in the commit's file",
			Kind:  Misleads,
			Plant: "echo '$Format:planted-%an$' >a.txt\n" + evil("a.txt export-subst"),
			Trip:  "case $(git archive HEAD | tr -d '\\000') in *planted-agent*) touch \"$CANARY/{name}\" ;; esac",
		},
		{
			Name:  "attributes-encoding",
			About: "an attribute has git write other bytes to the work tree than the commit holds",
			Kind:  Misleads,
			Plant: `echo 'a.txt working-tree-encoding=UTF-16LE' >.gitattributes
printf 'e\000v\000i\000l\000' >a.txt
git add -A
git commit -q -m work
`,
			Trip: `rm a.txt; git checkout -q -- a.txt
[ "$(git cat-file -s HEAD:a.txt)" -eq "$(wc -c <a.txt)" ] || touch "$CANARY/{name}"`,
		},
		{
			Name:  "mailmap",
			About: "a file has git log name another author than the commit does",
			Kind:  Misleads,
			Plant: "echo 'Linus <l@example.com> <agent@example.com>' >.mailmap\ngit add -A\ngit commit -q -m work\n",
			Trip:  "case $(git log -1) in *Linus*) touch \"$CANARY/{name}\" ;; esac",
		},
		{
			Name:  "message-escapes",
			About: "the message of a commit steers the terminal that shows it",
			Kind:  Misleads,
			Plant: "git commit -q --allow-empty -m \"$(printf 'evil\\033[1K\\033[Gall is well')\"\n",
			Trip:  "[ \"$(git log -1 --format=%B | tr -cd '\\033' | wc -c)\" -eq 2 ] && touch \"$CANARY/{name}\"",
		},
	}
}

// clean finds that git status sees no change although there is one.
const clean = `[ -z "$(git status --porcelain)" ] &&
{ [ -e evil ] || [ "$(git hash-object --no-filters a.txt)" != "$(git rev-parse HEAD:a.txt)" ]; } &&
touch "$CANARY/{name}"`

// lacksEvil is sh that makes the canary if the commit holds the evil line and what
// a command prints does not.
func lacksEvil(command string) string {
	return "case $(git cat-file blob HEAD:a.txt) in *evil-line*)\n" +
		"\tcase $(" + command + ") in *evil-line*) ;; *) touch \"$CANARY/{name}\" ;; esac ;;\nesac"
}

// evil is sh that commits a file of attributes and an evil line in a.txt.
func evil(attributes string) string {
	return "echo '" + attributes + "' >.gitattributes\necho evil-line >>a.txt\n" +
		"git add --renormalize .\ngit add -A\ngit commit -q -m work\n"
}
