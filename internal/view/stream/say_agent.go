package stream

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/rundir"
)

// agent is Render for what an agent says when not all of it is shown: words that
// come in pieces are put together.
func (l *Lines) agent(e rundir.Event) []string {
	a, ok := decode[agent.Event](e.Data)
	if _, large := clipped(e.Data); !ok || large {
		return append(l.Flush(), l.layout(e.Time, e.Iteration, l.say(e))...)
	}
	if a.Kind == agent.Text && a.Delta && !a.Subagent {
		return l.piece(e, a.Text)
	}
	if _, quiet := toneOfAgent(a); quiet {
		return nil
	}
	return append(l.Flush(), l.layout(e.Time, e.Iteration, speaks(a))...)
}

// piece adds to the words under way. They are a line when the piece ends one.
func (l *Lines) piece(e rundir.Event, text string) []string {
	var before []string
	if l.words.iteration != e.Iteration {
		before = l.Flush()
	}
	if !l.words.open {
		l.words.open, l.words.at, l.words.iteration = true, e.Time, e.Iteration
	}
	l.words.add(text)
	if strings.HasSuffix(text, "\n") {
		return append(before, l.Flush()...)
	}
	return before
}

// words are what an agent says in pieces, as much as a line can show.
type words struct {
	open      bool
	text      []byte
	at        time.Time
	iteration int
}

func (w *words) add(piece string) {
	w.text = append(w.text, piece[:min(len(piece), mostColumns-len(w.text))]...)
}

// speaks says what an agent said.
func speaks(a agent.Event) said {
	t, quiet := toneOfAgent(a)
	if a.Kind == agent.ToolCall {
		a.Input = command(a.Input)
	}
	text := a.Text
	if a.Kind != agent.Text {
		text = a.Line(mostColumns)
	}
	if a.Subagent && text != "" {
		text = "(subagent) " + text
	}
	return said{tone: t, quiet: quiet, text: text}
}

func toneOfAgent(a agent.Event) (t tone, quiet bool) {
	switch a.Kind {
	case agent.Text:
		return plain, a.Delta
	case agent.ToolCall, agent.Retry:
		return faint, false
	case agent.ToolResult:
		if a.Failed {
			return warn, false
		}
	case agent.RateLimit:
		return warn, a.Limit == nil || !a.Limit.Rejected
	case agent.Result:
		return bad, a.End == nil || a.End.Success
	case agent.ErrorEvent:
		return bad, false
	}
	return faint, true
}

// command is what matters of the input of a tool: its command, its file, what it
// looks for. Input of another shape is returned as it is.
func command(input string) string {
	if !strings.HasPrefix(input, "{") || len(input) > 256<<10 {
		return input
	}
	var known struct {
		Command  jsontext.Value `json:"command"`
		Cmd      jsontext.Value `json:"cmd"`
		Script   jsontext.Value `json:"script"`
		FilePath jsontext.Value `json:"file_path"`
		Filepath jsontext.Value `json:"filePath"`
		Pattern  jsontext.Value `json:"pattern"`
		Path     jsontext.Value `json:"path"`
		URL      jsontext.Value `json:"url"`
		Query    jsontext.Value `json:"query"`
		Prompt   jsontext.Value `json:"prompt"`
	}
	if json.Unmarshal([]byte(input), &known) != nil {
		return input
	}
	for _, value := range []jsontext.Value{
		known.Command, known.Cmd, known.Script, known.FilePath, known.Filepath,
		known.Pattern, known.Path, known.URL, known.Query, known.Prompt,
	} {
		if text := plainText(value); text != "" {
			return text
		}
	}
	return input
}

// plainText is a string, or a list of them with spaces between.
func plainText(value jsontext.Value) string {
	var text string
	var list []string
	if value.Kind() == '[' && json.Unmarshal(value, &list) == nil {
		return strings.Join(list, " ")
	}
	if value.Kind() == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return ""
}

func complains(t rundir.Text) said {
	return said{tone: faint, text: with("stderr: ", strings.TrimSpace(string(t.Bytes())))}
}

func exits(x rundir.AgentExit) said {
	text := fmt.Sprintf("agent exits with %d after %s", x.Code, span(of(x.DurationMS, time.Millisecond))) + with(": ", x.Why)
	if x.Code == 0 && x.Why == "" {
		return said{quiet: true, text: text}
	}
	return said{tone: warn, text: text}
}

func overflows(o rundir.Output) said {
	return said{tone: warn, text: fmt.Sprintf("agent printed more than is kept: %s, %s are not recorded", count(o.Events, "event"), size(o.Bytes))}
}

// decides says what the gate decided. Model calls that were let through are quiet
// as all that is allowed: what they cost is in the iteration's line.
func decides(g gate.Event) said {
	target := net.JoinHostPort(g.Host, strconv.Itoa(g.Port))
	if g.Host == "" {
		target = ""
	}
	request := join(" ", g.Method, target+g.Path)
	if !g.Allowed {
		return said{tone: warn, text: "gate denies " + request + with(": ", join(", ", g.Reason, with("rule ", g.Rule), g.Code))}
	}
	return said{tone: faint, quiet: true, text: "gate allows " + request + ", " + join(", ",
		with("rule ", g.Rule), with("credential ", g.Credential), some(int64(g.Status), strconv.Itoa(g.Status)),
		size(g.BytesUp)+" up", size(g.BytesDown)+" down", span(g.Duration), g.Reason)}
}
