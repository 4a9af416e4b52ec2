package task

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	// PromptFile is the name of the prompt file where nobody says another.
	PromptFile = "PROMPT.md"

	maxPrompt   = 256 << 10
	maxValue    = 64 << 10 // of one variable
	maxRendered = 1 << 20
	maxProblems = 20 // that are told of at once
)

// Prompt is the text for each iteration. {{name}} stands for a variable, on one
// line, with or without spaces inside; \{{ is a plain {{. Single braces and a
// lone }} are text. There is nothing else: no conditions, functions or includes.
type Prompt struct {
	parts []part
}

// part is a piece of plain text, or a variable.
type part struct {
	text     string
	variable *Variable
}

// LoadPrompt reads a prompt file of the workspace.
func LoadPrompt(root *os.Root, name string) (*Prompt, error) {
	data, err := readText(root, name, maxPrompt)
	if err != nil {
		return nil, err
	}
	p, err := ParsePrompt(string(data))
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", name, err)
	}
	return p, nil
}

// ParsePrompt reads the text of a prompt. Its error names every unknown
// variable with its line.
func ParsePrompt(text string) (*Prompt, error) {
	switch {
	case len(text) > maxPrompt:
		return nil, fmt.Errorf("the prompt is larger than %d KiB", maxPrompt>>10)
	case !utf8.ValidString(text):
		return nil, errors.New("the prompt is not UTF-8")
	case strings.ContainsRune(text, 0):
		return nil, errors.New("the prompt holds a NUL character")
	case strings.TrimSpace(text) == "":
		return nil, errors.New("the prompt is empty")
	}
	p := &Prompt{}
	var problems []error
	for line, rest := 1, text; rest != "" && len(problems) < maxProblems; {
		var err error
		before := rest
		rest, err = p.parseNext(rest)
		if err != nil {
			problems = append(problems, fmt.Errorf("line %d: %w", line+strings.Count(before[:strings.Index(before, "{{")], "\n"), err))
		}
		line += strings.Count(before[:len(before)-len(rest)], "\n")
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return p, nil
}

// parseNext takes the plain text up to the next variable, and the variable.
func (p *Prompt) parseNext(text string) (rest string, err error) {
	plain, after, found := strings.Cut(text, "{{")
	if !found {
		p.parts = append(p.parts, part{text: plain})
		return "", nil
	}
	if literal, escaped := strings.CutSuffix(plain, `\`); escaped {
		p.parts = append(p.parts, part{text: literal + "{{"})
		return after, nil
	}
	p.parts = append(p.parts, part{text: plain})
	line, _, _ := strings.Cut(after, "\n")
	name, _, closed := strings.Cut(line, "}}")
	if !closed {
		return after, errors.New(`"{{" without "}}" on the same line; write \{{ for plain braces`)
	}
	v, known := variable(strings.TrimSpace(name))
	if !known {
		return after[len(name)+2:], unknownVariable(strings.TrimSpace(name))
	}
	p.parts = append(p.parts, part{variable: &v})
	return after[len(name)+2:], nil
}

func unknownVariable(name string) error {
	const shown = 64
	if len(name) > shown {
		name = strings.ToValidUTF8(name[:shown], "") + "..."
	}
	return fmt.Errorf("unknown variable %q%s (plain braces are written \\{{)", name, didYouMean(name, variableNames()))
}

// Uses reports whether the prompt holds a variable.
func (p *Prompt) Uses(name string) bool {
	for _, part := range p.parts {
		if part.variable != nil && part.variable.Name == name {
			return true
		}
	}
	return false
}

// Render puts the values in their places. A value that is too long loses its
// middle, and what cannot be printed is left out.
func (p *Prompt) Render(values Values) (string, error) {
	var b strings.Builder
	for _, part := range p.parts {
		if part.variable == nil {
			b.WriteString(part.text)
		} else {
			b.WriteString(Shorten(printable(part.variable.value(values)), maxValue))
		}
		if b.Len() > maxRendered {
			return "", fmt.Errorf("rendering the prompt: it is larger than %d KiB", maxRendered>>10)
		}
	}
	return b.String(), nil
}
