package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

func starts(s rundir.Start, at time.Time) said {
	verb := "run starts"
	if s.Resumed {
		verb = "run resumes"
	}
	what := said{tone: bold, text: join(", ",
		fmt.Sprintf("%s on %s: %s in %s", verb, at.Format(time.DateOnly), join(" with ", s.Agent, s.Model), s.Engine),
		with("at most ", limits(s.Limits)))}
	for _, note := range s.Notes {
		what.more = append(what.more, "note: "+note)
	}
	return what
}

// limits says what ends a run; of no limits, nothing.
func limits(l rundir.Limits) string {
	return join(", ",
		some(int64(l.MaxCostUSD), dollars(l.MaxCostUSD)),
		some(l.MaxTokens, scaled(l.MaxTokens, "")+" tokens"),
		some(int64(l.MaxIterations), count(int64(l.MaxIterations), "iteration")),
		some(l.MaxTimeSeconds, roundSpan(of(l.MaxTimeSeconds, time.Second))))
}

func stops(s rundir.Stop) said {
	return said{tone: toneOf(s.Status), text: "run ends: " + string(s.Status) + with(": ", s.Reason)}
}

func toneOf(s rundir.Status) tone {
	switch s {
	case rundir.Done:
		return good
	case rundir.Failed:
		return bad
	}
	return warn
}

func launches(l rundir.Launch) said {
	writable := 0
	for _, m := range l.Mounts {
		if !m.ReadOnly {
			writable++
		}
	}
	return said{text: "sandbox starts: " + join(", ",
		join(" ", l.Engine, l.Version, with("with ", l.Runtime)), l.Boundary, with("inside it ", l.Inner), l.Image,
		fmt.Sprintf("%s (%d writable)", count(int64(len(l.Mounts)), "mount"), writable),
		with("network ", l.Network), with("policy ", l.Policy),
		some(int64(len(l.Allowed)), fmt.Sprintf("%d allowed", len(l.Allowed))),
		with("permissions ", l.Permission),
		some(l.Memory, size(l.Memory)+" memory"))}
}

func lands(l rundir.Landed) said {
	if l.Error != "" {
		return said{tone: bad, text: "sandbox " + l.Sandbox + " was not ended well: " + l.Error}
	}
	return said{quiet: true, text: "sandbox " + l.Sandbox + " ends" + with(": ", l.Reason)}
}

func begins(n int, b rundir.Begin) said {
	text := fmt.Sprintf("iteration %d begins", n)
	if b.Attempt > 1 {
		text += fmt.Sprintf(" again, attempt %d", b.Attempt)
	}
	if b.HalfOpen {
		text += ", on trial after the breaker was open"
	}
	return said{tone: bold, text: text + with(": ", join(" ", b.Task, b.TaskTitle))}
}

// outcome is told with the end of the iteration, unless there is no end yet.
func outcome(o rundir.Outcome) said {
	text := o.Verdict + with(": ", o.Reason) + with(", the agent says ", o.Claims)
	if o.Again {
		return said{tone: warn, text: "attempt ends, not counted: " + text}
	}
	return said{quiet: true, text: "attempt ends: " + text}
}

func charged(c rundir.Charge) said {
	return said{quiet: true, text: join(" ", "charge "+c.CostUSD.String(), c.Model,
		fmt.Sprintf("%d in, %d cached, %d written, %d out", c.Tokens.Input, c.Tokens.CacheRead, c.Tokens.CacheWrite, c.Tokens.Output))}
}

func changes(f rundir.Files) said {
	return said{quiet: true, text: count(int64(f.Changed), "file") + " changed"}
}

func validates(v rundir.Validation) said {
	if v.Confirms && v.Outcome != "" {
		return confirms(v)
	}
	took := " (" + span(of(v.DurationMS, time.Millisecond)) + ")"
	if v.Confirms {
		took = " (" + span(of(v.DurationMS, time.Millisecond)) + ", again, in a new sandbox)"
	}
	if v.Passed {
		return said{tone: good, text: "validation passes: " + v.Command + took}
	}
	const shown = 10
	what := said{tone: bad, more: lastLines(v.Output, shown), text: fmt.Sprintf("validation fails with %d: %s%s", v.ExitCode, v.Command, took)}
	if v.ExitCode == 127 {
		what.text = fmt.Sprintf("validation fails with 127, a program of it is not in the sandbox: %s%s", v.Command, took)
	}
	if v.Error != "" {
		what.text = "validation could not be run: " + v.Command + took + ": " + v.Error
	}
	return what
}

func tasks(t rundir.Tasks) said {
	if t.Problem != "" {
		return said{tone: bad, text: "task file " + t.File + " cannot be read: " + t.Problem}
	}
	what := said{text: fmt.Sprintf("%d of %d tasks done", t.Passing, t.All) + with(": ", strings.Join(head(t.Changes, 20), ", "))}
	for _, v := range head(t.Violations, 20) {
		what.tone = warn
		what.more = append(what.more, "not taken over: "+v)
	}
	return what
}

func head(list []string, most int) []string { return list[:min(len(list), most)] }

func waits(w rundir.Wait, now time.Time) said {
	return said{tone: warn, text: fmt.Sprintf("waits until %s (%s): %s", moment(w.Until, now), span(w.Until.Sub(now)), w.Why)}
}

func breaks(b rundir.Breaker) said {
	t := good
	if b.State != "closed" {
		t = warn
	}
	return said{tone: t, text: "breaker " + b.State + with(": ", b.Why)}
}

func asks(q rundir.Question) said {
	const shown = 20
	return said{tone: warn, text: "needs you (" + q.Kind + ")" + with(", answer in ", q.File), more: firstLines(q.Text, shown)}
}

func answers(a rundir.Answer) said { return said{text: "answered: " + a.Answer} }

func requests(a rundir.Asked) said {
	return said{tone: warn, text: "asked to " + string(a.Request) + with(" by ", a.By)}
}

func notifies(n rundir.Notified) said {
	if n.Error != "" {
		return said{tone: warn, text: "could not tell a person by " + n.Channel + " (" + n.About + "): " + n.Error}
	}
	return said{quiet: true, text: "told a person by " + n.Channel + " (" + n.About + ")"}
}
