package gittrap

// linkTraps are links in the git directory through which git itself writes outside.
func linkTraps() []Trap {
	return []Trap{
		{
			Name:  "link-commit-message",
			About: "git commit overwrites the file that COMMIT_EDITMSG links to",
			Kind:  Misleads,
			Plant: "rm -f .git/COMMIT_EDITMSG\nln -s \"$CANARY/{name}\" .git/COMMIT_EDITMSG\n",
			Trip:  "git commit -q --allow-empty -m work",
		},
		{
			Name:  "link-fetch-head",
			About: "git fetch overwrites the file that FETCH_HEAD links to",
			Kind:  Misleads,
			Plant: "rm -f .git/FETCH_HEAD\nln -s \"$CANARY/{name}\" .git/FETCH_HEAD\n",
			Trip:  "git fetch -q . HEAD",
		},
		{
			Name:  "link-reflog",
			About: "git commit appends to the file that a log of refs links to",
			Kind:  Misleads,
			Plant: "mkdir -p .git/logs\nrm -f .git/logs/HEAD\nln -s \"$CANARY/{name}\" .git/logs/HEAD\n",
			Trip:  "git commit -q --allow-empty -m work",
		},
		{
			Name:  "link-refs-folder",
			About: "a fetch writes refs into the folder that refs/remotes/origin links to",
			Kind:  Misleads,
			Plant: "git branch {name}\nmkdir -p .git/refs/remotes\nln -s \"$CANARY\" .git/refs/remotes/origin\n" + origin("."),
			Trip:  "git fetch -q origin",
		},
		{
			Name:  "link-info-exclude",
			About: "git reads the rules of what to ignore from a file outside, and shows them",
			Kind:  Misleads,
			Plant: "mkdir -p .git/info\nrm -f .git/info/exclude\nln -s \"$CANARY/private\" .git/info/exclude\n",
			Trip: `echo a-secret-name >"$CANARY/private"
case $(git check-ignore -v a-secret-name) in *a-secret-name*) touch "$CANARY/{name}" ;; esac`,
		},
		{
			Name:  "link-ref",
			About: "git reads a ref from a file outside, and shows what it holds",
			Kind:  Misleads,
			Plant: "ln -s \"$CANARY/private\" .git/refs/heads/private\n",
			Trip: `echo 0123456789abcdef0123456789abcdef01234567 >"$CANARY/private"
case $(git rev-parse refs/heads/private) in 0123456789abcdef*) touch "$CANARY/{name}" ;; esac`,
		},
	}
}
