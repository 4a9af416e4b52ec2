package tape

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Volatile is a place in a request's body that may differ between the recording
// and the replay.
type Volatile struct {
	// At is a JSON pointer in which "*" stands for one step and "**" for any
	// number of them.
	At string
	// Text, if it is set, is a regular expression: only what it matches in the
	// strings at that place may differ. Otherwise the whole value may, or be
	// missing.
	Text string
}

// DefaultVolatile lists what is known to change from one run of an agent to the
// next: names of the session and the run, the day, and where things lie.
func DefaultVolatile() []Volatile {
	const id = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	return []Volatile{
		{At: "/metadata"},        // Anthropic: the device and the session
		{At: "/client_metadata"}, // codex: the same
		{At: "/input/*/internal_chat_message_metadata_passthrough"}, // codex: times
		{At: "/prompt_cache_key"},                                   // OpenAI: the session
		{At: "/safety_identifier"},
		{At: "/user"},
		// claude: a digest of the prompt in the first block of the system prompt.
		{At: "/system/*/text", Text: `^x-anthropic-billing-header:.*`},
		// codex: what it writes above the output of a command.
		{At: "/input/*/output/**", Text: `(?m)^Chunk ID: [0-9a-f]+$`},
		{At: "/input/*/output/**", Text: `(?m)^Wall time:? [0-9.]+ seconds$`},
		{At: "/**", Text: id},
		// What a mask leaves of a secret: the phantom is another one in every run.
		{At: "/**", Text: `\[redacted:[0-9a-f]{8}\]`},
		{At: "/**", Text: `\b20\d\d[-/]\d\d[-/]\d\d\b`},
	}
}

// matcher is a list of Volatile made ready.
type matcher []place

type place struct {
	steps []string
	text  *regexp.Regexp
}

// blank stands for what may differ.
const blank = "\x00volatile\x00"

func newMatcher(list []Volatile) (matcher, error) {
	var m matcher
	for _, v := range list {
		if !strings.HasPrefix(v.At, "/") {
			return nil, fmt.Errorf("reading volatile places: %q is not a JSON pointer", v.At)
		}
		p := place{steps: strings.Split(v.At[1:], "/")}
		if v.Text != "" {
			text, err := regexp.Compile(v.Text)
			if err != nil {
				return nil, fmt.Errorf("reading volatile places: %w", err)
			}
			p.text = text
		}
		m = append(m, p)
	}
	return m, nil
}

// settle returns the tree without what may differ. It changes the tree.
func (m matcher) settle(tree any) any {
	for _, p := range m {
		tree = p.settle(tree, p.steps)
	}
	return tree
}

// settle blanks what lies at the end of the steps.
func (p place) settle(value any, steps []string) any {
	if len(steps) == 0 {
		return p.blank(value)
	}
	if steps[0] == "**" {
		value = p.settle(value, steps[1:])
	}
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			if next, ok := step(steps, escape(name)); ok {
				p.put(value, name, p.settle(child, next))
			}
		}
	case []any:
		for i, child := range value {
			if next, ok := step(steps, strconv.Itoa(i)); ok {
				value[i] = p.settle(child, next)
			}
		}
	}
	return value
}

// put takes a member that may differ out altogether: it may also be missing.
func (p place) put(object map[string]any, name string, value any) {
	if p.text == nil && value == blank {
		delete(object, name)
		return
	}
	object[name] = value
}

// step goes down by a name, and says which steps are left there.
func step(steps []string, name string) ([]string, bool) {
	switch steps[0] {
	case "**":
		return steps, true
	case "*", name:
		return steps[1:], true
	}
	return nil, false
}

func (p place) blank(value any) any {
	if p.text == nil {
		return blank
	}
	if text, ok := value.(string); ok {
		return p.text.ReplaceAllLiteralString(text, blank)
	}
	return value
}
