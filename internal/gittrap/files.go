package gittrap

// fileTraps are files that the host reads or writes without git: the task file and
// the agent's own notes.
func fileTraps() []Trap {
	const replace = "rm prd.json\n"
	return []Trap{
		{
			Name:  "task-file-link",
			About: "what is written to the task file is written outside",
			Kind:  Misleads,
			Plant: replace + "ln -s \"$CANARY/{name}\" prd.json\n",
			Trip:  "echo '{}' >prd.json",
		},
		{
			Name:  "task-file-link-read",
			About: "what is read from the task file is a secret from outside",
			Kind:  Misleads,
			Plant: replace + "ln -s \"$CANARY/private\" prd.json\n",
			Trip: `echo secret >"$CANARY/private"
[ "$(cat prd.json)" = secret ] && touch "$CANARY/{name}"`,
		},
		{
			Name:  "task-file-folder",
			About: "the task file is a folder, and what should replace the file lands in it",
			Kind:  Misleads,
			Plant: replace + "mkdir prd.json\n",
			Trip: `echo '{}' >next.json; mv next.json prd.json
[ -e prd.json/next.json ] && touch "$CANARY/{name}"`,
		},
		{
			Name:  "task-file-folder-link",
			About: "the task file links to a folder, and what should replace the file lands there",
			Kind:  Misleads,
			Plant: replace + "ln -s \"$CANARY\" prd.json\n",
			Trip:  "echo '{}' >{name}; mv {name} prd.json",
		},
		{
			Name:  "progress-file-link",
			About: "a line that is added to the progress file is added outside",
			Kind:  Misleads,
			Plant: "rm progress.txt\nln -s \"$CANARY/{name}\" progress.txt\n",
			Trip:  "echo 'iteration 2' >>progress.txt",
		},
		{
			Name:  "folder-link",
			About: "a folder links to one outside, and all that is written below it goes there",
			Kind:  Misleads,
			Plant: "ln -s \"$CANARY\" notes\n",
			Trip:  "echo question >notes/{name}",
		},
		{
			Name:  "backup-file-link",
			About: "the name that a careful writer renames from is a link already",
			Kind:  Misleads,
			Plant: "ln -s \"$CANARY/{name}\" prd.json.tmp\n",
			Trip:  "echo '{}' >prd.json.tmp; mv prd.json.tmp prd.json",
		},
		{
			Name:  "task-file-endless",
			About: "the task file links to a device that never ends",
			Kind:  Hangs,
			Plant: replace + "ln -s /dev/zero prd.json\n",
			Trip:  endless,
		},
		{
			Name:  "task-file-sparse",
			About: "the task file takes no room and has 8 GiB",
			Kind:  Hangs,
			Plant: replace + "truncate -s 8G prd.json\n",
			Trip:  endless,
		},
		{
			Name:  "progress-file-pipe",
			About: "the progress file is a pipe into which nobody writes",
			Kind:  Hangs,
			Plant: "rm progress.txt\nmkfifo progress.txt\n",
			Trip:  hangs("cat progress.txt"),
			Needs: []string{"timeout"},
		},
		{
			Name:  "task-file-pipe-write",
			About: "the task file is a pipe from which nobody reads",
			Kind:  Hangs,
			Plant: replace + "mkfifo prd.json\n",
			Trip:  hangs(`sh -c 'echo "{}" >prd.json'`),
			Needs: []string{"timeout"},
		},
		{
			Name:  "git-config-pipe",
			About: "the configuration of the repository is a pipe, and every git command waits for it",
			Kind:  Hangs,
			Plant: "rm .git/config\nmkfifo .git/config\n",
			Trip:  hangs(everyday),
			Needs: []string{"timeout"},
		},
	}
}

// endless reads the task file, and gives up at 128 MiB.
const endless = `[ "$(head -c 134217728 prd.json | wc -c)" -eq 134217728 ] && touch "$CANARY/{name}"`

// hangs is sh that makes the canary if a command does not end in two seconds,
// which is far more than it needs.
func hangs(command string) string {
	return "timeout 2 " + command + "\n[ $? -eq 124 ] && touch \"$CANARY/{name}\""
}
