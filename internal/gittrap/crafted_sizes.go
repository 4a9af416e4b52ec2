package gittrap

// craftedSizes are small to send and endless to take.
func craftedSizes() []Crafted {
	return []Crafted{
		{
			Name: "blob-bomb", About: "a file of zeros is a thousand times its size in the pack", Refuse: true,
			Make: `bomb=$(head -c "${BOMB_BYTES:-314572800}" /dev/zero | blob)
land "$(entry 100644 bomb "$bomb" | tree)"
`,
			Shows: `[ "$(git cat-file -s HEAD:bomb)" -gt $(($(wc -c <"$BUNDLE") * 500)) ]`,
		},
		{
			Name: "tree-bomb", About: "eleven objects make ten thousand million files", Refuse: true,
			Make: `below="100644 blob $file"
for level in 9 8 7 6 5 4 3 2 1 0; do
	below="040000 tree $(printf "$below\t%s\n" 0 1 2 3 4 5 6 7 8 9 | git mktree)"
done
land "${below##* }"
`,
			Shows: `git cat-file -e HEAD:9/9/9/9/9/9/9/9/9/9 && [ "$(git rev-list --objects HEAD~1..HEAD | wc -l)" -eq 11 ]`,
		},
		{
			Name: "tree-deep", About: "a file lies 1500 folders deep, at a path that is longer than any system takes", Refuse: true,
			Make: `{
	printf 'commit %s\ncommitter %s\ndata 2\nx\n' "$(git symbolic-ref HEAD)" "$who"
	printf 'from %s\nM 100644 %s ' "$(git rev-parse HEAD)" "$file"
	for folder in $(seq 1500); do printf folder/; done
	printf 'file\n\n'
} | git fast-import --quiet
`,
			Shows: `[ "$(git ls-tree -r --name-only HEAD -- folder | wc -c)" -gt 10000 ]`,
		},
		{
			Name: "commit-huge-message", About: "the message of a commit has 8 MiB, in one line",
			Make: `git update-ref HEAD "$({ header; printf 'author %s\ncommitter %s\n\n' "$who" "$who"; head -c 8388608 /dev/zero | tr '\000' x; echo; } | commit)"
`,
			Shows: `[ "$(git cat-file -s HEAD)" -gt 8388608 ]`,
		},
		{
			Name: "tree-many-files", About: "the commit adds 50000 files",
			Make: `many=$(printf "100644 blob $file\t%s\n" $(seq 50000) | git mktree)
land "$(entry 40000 many "$many" | tree)"
`,
			Shows: `[ "$(git ls-tree HEAD:many | wc -l)" -eq 50000 ]`,
		},
	}
}
