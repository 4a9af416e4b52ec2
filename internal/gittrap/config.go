package gittrap

// everyday is what anybody does first in a tree.
const everyday = "git status"

// fsmonitor is configuration that runs the payload at each git status. It serves
// the traps that are about where git finds configuration.
const fsmonitor = `[core]
	fsmonitor = "{touch}; :"`

// configTraps are commands in the configuration of the repository.
func configTraps() []Trap {
	return []Trap{
		{
			Name:  "config-fsmonitor",
			About: "git status asks a program what has changed",
			Plant: config(fsmonitor),
			Trip:  everyday,
		},
		{
			Name:  "config-include",
			About: "the configuration includes a file of the work tree",
			Plant: appendTo("team.gitconfig", fsmonitor) + config("[include]\n\tpath = ../team.gitconfig"),
			Trip:  everyday,
		},
		{
			Name:  "config-include-if",
			About: "the configuration includes a file of the work tree, on a condition that holds",
			Plant: appendTo("team.gitconfig", fsmonitor) + config("[includeIf \"onbranch:**\"]\n\tpath = ../team.gitconfig"),
			Trip:  everyday,
		},
		{
			Name:  "config-worktree-file",
			About: "git reads a second file, config.worktree, where an extension says so",
			Plant: appendTo(".git/config.worktree", fsmonitor) + config("[extensions]\n\tworktreeConfig = true"),
			Trip:  everyday,
		},
		{
			Name:  "config-editor",
			About: "git commit opens an editor",
			Plant: config("[core]\n\teditor = \"{touch}; :\""),
			Trip:  "git commit --allow-empty",
		},
		{
			Name:  "config-sequence-editor",
			About: "git rebase -i opens an editor of its own",
			Plant: "git commit -q --allow-empty -m work\n" + config("[sequence]\n\teditor = \"{touch}; :\""),
			Trip:  "git rebase -i HEAD~1",
		},
		{
			Name:  "config-pager",
			About: "git opens matching files in the pager",
			Plant: config("[core]\n\tpager = \"{touch}; :\""),
			Trip:  "git grep -O -e .",
		},
		{
			Name:  "config-pager-of-command",
			About: "in a terminal, git log writes into a pager",
			Plant: config("[pager]\n\tlog = \"{touch}; cat\""),
			Trip:  "TERM=xterm script -q -e -c 'git log' /dev/null </dev/null",
			Needs: []string{"script"},
		},
		{
			Name:  "config-alias",
			About: "a short name that people use is a command; names of git itself cannot be taken",
			Plant: config("[alias]\n\tst = \"!{touch}; git status\""),
			Trip:  "git st",
		},
		{
			Name:  "config-askpass",
			About: "git asks a program for a user's name and password",
			Plant: program("ask", "{touch}") + config("[core]\n\taskPass = ./ask"),
			Trip:  askCredential,
		},
		{
			Name:  "config-credential-helper",
			About: "git asks a helper for credentials, and tells it of them",
			Plant: config("[credential]\n\thelper = \"!{touch}; :\""),
			Trip:  askCredential,
		},
		{
			Name:  "config-interactive-diff-filter",
			About: "in a terminal, git add -p pipes the diff through a command",
			Plant: "echo more >>a.txt\n" + config("[interactive]\n\tdiffFilter = \"{touch}; cat\""),
			Trip:  "echo q | TERM=xterm script -q -e -c 'git add -p' /dev/null",
			Needs: []string{"script"},
		},
		{
			Name:  "config-trailer-command",
			About: "git makes a trailer of a message by a command",
			Plant: config("[trailer \"ticket\"]\n\tkey = Ticket\n\tcommand = \"{touch}; :\""),
			Trip:  "git commit -q --allow-empty -m work --trailer 'Reviewed-by: me'",
		},
		{
			Name:  "config-tar-command",
			About: "git archive compresses by a command",
			Plant: config("[tar \"tar.gz\"]\n\tcommand = \"{touch}; cat\""),
			Trip:  "git archive --format=tar.gz HEAD >/dev/null",
		},
		{
			Name:  "config-man-viewer",
			About: "git help shows its pages by a command",
			Plant: config("[man]\n\tviewer = plain\n[man \"plain\"]\n\tcmd = \"{touch}; :\""),
			Trip:  "git help -m status",
		},
		{
			Name:  "config-difftool",
			About: "git difftool shows changes by a command",
			Plant: "echo more >>a.txt\n" + config(`
[diff]
	tool = plain
[difftool "plain"]
	cmd = "{touch}; :"`),
			Trip: "git difftool -y",
		},
		{
			Name:  "config-mergetool",
			About: "git mergetool resolves conflicts by a command",
			Plant: diverged + config(`
[merge]
	tool = plain
[mergetool "plain"]
	cmd = "{touch}; :"`),
			Trip: "git merge topic; git mergetool -y </dev/null",
		},
		{
			Name:  "rebase-todo",
			About: "a rebase is half done and its next step, which git status says to go on with, is a command",
			Plant: "git commit -q --allow-empty -m work\nGIT_SEQUENCE_EDITOR='echo break >' git rebase -q -i HEAD~1\n" +
				appendTo(".git/rebase-merge/git-rebase-todo", "exec {touch}"),
			Trip: "git rebase --continue",
		},
	}
}

// askCredential is how git's own transport and other tools, the go command among
// them, ask git for credentials.
const askCredential = `printf 'protocol=https\nhost=example.com\n\n' | git credential fill`

// diverged leaves a branch topic that conflicts with the current one in a.txt.
const diverged = `git checkout -q -b topic
echo theirs >a.txt
git commit -q -a -m theirs
git checkout -q -
echo ours >a.txt
git commit -q -a -m ours
`
