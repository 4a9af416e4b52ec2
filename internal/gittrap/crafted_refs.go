package gittrap

// craftedRefs bring more refs than the one that is wanted.
func craftedRefs() []Crafted {
	const work = "land \"$(entry 100644 work \"$file\" | tree)\"\n"
	return []Crafted{
		refs("replace", "a ref replaces the commit that the agent was given", "refs/replace/",
			work+"git replace HEAD~1 \"$(git commit-tree -m forged 'HEAD~1^{tree}')\"\n"),
		refs("notes", "a ref adds notes to the user's commits", "refs/notes/commits",
			work+"git notes add -m 'reviewed by me' HEAD~1\n"),
		refs("tag-shadow", "a tag has the name of the branch", "refs/tags/",
			work+"git tag \"$(git symbolic-ref --short HEAD)\" HEAD~1\n"),
		refs("remote", "a ref pretends that something was fetched from the origin", "refs/remotes/origin/main",
			work+"git update-ref refs/remotes/origin/main HEAD\n"),
		refs("option", "the name of a branch is an option", "refs/heads/--output=x",
			work+"git update-ref refs/heads/--output=x HEAD\n"),
		refs("outside", "a ref of the bundle is a path out of the refs", "refs/heads/../../hooks/post-checkout",
			work+"echo \"$(git rev-parse HEAD) refs/heads/../../hooks/post-checkout\" >.git/more-refs\n"),
		refs("plain-name", "a ref of the bundle is the name of a file of the git directory", " config",
			work+"echo \"$(git rev-parse HEAD) config\" >.git/more-refs\n"),
		refs("twice", "the bundle names the branch twice, with different commits", " refs/heads/twice",
			work+"git update-ref refs/heads/twice HEAD\necho \"$(git rev-parse HEAD~1) refs/heads/twice\" >.git/more-refs\n"),
		refs("escape", "a ref of the bundle steers a terminal", "\x1b[2J",
			work+"printf '%s refs/heads/\\033[2J\\n' \"$(git rev-parse HEAD)\" >.git/more-refs\n"),
	}
}

// refs is a commit that comes with a ref whose line in the bundle holds a text. What
// is wrong lies in the refs, so the commit itself can be taken.
func refs(name, about, text, script string) Crafted {
	return Crafted{
		Name: "refs-" + name, About: about, Make: script,
		Shows: "case $(git bundle list-heads \"$BUNDLE\") in *'" + text + "'*) ;; *) false ;; esac",
	}
}
