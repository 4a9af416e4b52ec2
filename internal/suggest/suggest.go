// Package suggest finds what a misspelt word was meant to be.
package suggest

import "strings"

// Nearest returns the candidate that a misspelt word was probably meant to be,
// or "" when none is close. The first of equals wins.
func Nearest(word string, candidates []string) string {
	const longest = 64 // distance is quadratic, and the word may be hostile
	if len(word) > longest {
		return ""
	}
	word = strings.ToLower(word)
	best, bound := "", min(max(2, len(word)/3), len(word)-1)
	for _, c := range candidates {
		if d := distance(word, strings.ToLower(c)); d <= bound {
			best, bound = c, d-1
		}
	}
	return best
}

// distance is the Levenshtein distance between two short words: how many bytes
// must be added, removed or replaced to make one into the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
