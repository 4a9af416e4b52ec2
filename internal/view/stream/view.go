package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

// View returns the lines that show the run at a time, none of them as wide as
// the terminal. Times are those of now's zone.
func (m *Model) View(now time.Time, width int) []string {
	lines := []string{m.title(), m.progress(now), m.action.String(), m.matters(now)}
	shown := lines[:0]
	for _, line := range lines {
		if line = plaintext.Line(line, width-1); line != "" {
			shown = append(shown, line)
		}
	}
	return shown
}

func (m *Model) title() string {
	return join(" · ", m.id, m.agent, m.engine, string(m.status))
}

func (m *Model) progress(now time.Time) string {
	return join(" · ",
		m.count(),
		m.doing(now),
		dollars(m.cost)+with(" of ", some(int64(m.limits.MaxCostUSD), dollars(m.limits.MaxCostUSD))),
		some(m.limits.MaxTokens, scaled(m.tokens, "")+" of "+scaled(m.limits.MaxTokens, "")+" tokens"),
		some(int64(m.files), count(int64(m.files), "file")+" changed"),
		m.time(now))
}

func (m *Model) count() string {
	if m.iteration == 0 {
		return ""
	}
	return fmt.Sprintf("iteration %d", m.iteration) + with("/", some(int64(m.limits.MaxIterations), fmt.Sprint(m.limits.MaxIterations)))
}

// doing names the phase and how long it has lasted. A wait that is over is one no
// more, even though no event says so.
func (m *Model) doing(now time.Time) string {
	p, since := m.phase, m.since
	if !m.isWaiting(now) && (p == waiting || p == coolingDown) {
		p, since = preparing, m.wait.Until
	}
	if since.IsZero() || !m.running {
		return string(p)
	}
	return fmt.Sprintf("%s (%s)", p, span(now.Sub(since)))
}

func (m *Model) isWaiting(now time.Time) bool {
	return (m.phase == waiting || m.phase == coolingDown) && now.Before(m.wait.Until)
}

// time is that of all sessions.
func (m *Model) time(now time.Time) string {
	took := m.before
	if m.running {
		took += max(0, now.Sub(m.started))
	}
	limit := roundSpan(of(m.limits.MaxTimeSeconds, time.Second))
	return span(took) + with(" of ", some(m.limits.MaxTimeSeconds, limit))
}

// matters is what a person should know about, if there is anything.
func (m *Model) matters(now time.Time) string {
	var parts []string
	switch m.asked {
	case rundir.StopRequest:
		parts = append(parts, "stopping now")
	case rundir.PauseRequest:
		words := "pausing after this iteration"
		if m.running && m.askedBy == "the terminal" {
			words += "; Ctrl-C again ends it now"
		}
		parts = append(parts, words)
	}
	if m.isWaiting(now) {
		parts = append(parts, fmt.Sprintf("waiting until %s (%s): %s", moment(m.wait.Until, now), span(m.wait.Until.Sub(now)), m.wait.Why))
	}
	if m.breaker.State != "" && m.breaker.State != "closed" {
		parts = append(parts, "breaker "+m.breaker.State+with(": ", m.breaker.Why))
	}
	if m.question.Text != "" {
		parts = append(parts, "needs you: "+m.question.Text)
	}
	return join(" · ", parts...)
}

// String is the action in one line, safe.
func (a action) String() string {
	text := a.Text
	if a.Kind == agent.Text { // the last line of it: output goes on at its end
		text = strings.Join(lastLines(text, 1), "")
	}
	e := agent.Event{Kind: a.Kind, Tool: a.Tool, Text: text, Input: a.Input}
	if a.Kind == agent.ToolCall {
		e.Input = command(a.Input)
	}
	if a.Subagent {
		return with("(subagent) ", e.Line(mostColumns))
	}
	return e.Line(mostColumns)
}
