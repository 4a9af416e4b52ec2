package stream

import (
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// phase is what a run is at.
type phase string

const (
	preparing   phase = "preparing"
	working     phase = "working"
	validating  phase = "validating"
	waiting     phase = "waiting"
	coolingDown phase = "cooling down"
	ending      phase = "ending"
)

// Model is where a run stands, for a view of a few lines. It has no clock and no
// terminal: it is what the events make of it. It stays small, however many there
// are, and is not safe for concurrent use.
type Model struct {
	id      string
	status  rundir.Status
	agent   string
	engine  string
	limits  rundir.Limits
	started time.Time     // of this session
	before  time.Duration // that earlier sessions took
	running bool          // a session is under way
	last    time.Time     // of the last event

	phase     phase
	since     time.Time
	iteration int
	files     int
	cost      money.USD
	tokens    int64
	action    action

	wait     rundir.Wait
	breaker  rundir.Breaker
	question rundir.Question
	asked    rundir.Request
	askedBy  string
}

// action is what the agent did last, in hostile text.
type action struct {
	Kind     agent.EventKind `json:"kind"`
	Tool     string          `json:"tool"`
	Input    string          `json:"input"`
	Text     string          `json:"text"`
	Subagent bool            `json:"subagent"`
}

// NewModel returns the model of a run of which nothing is known yet.
func NewModel(id string) *Model {
	return &Model{id: id, status: rundir.Running, phase: preparing}
}

// Apply takes in the next event. Data that cannot be read changes nothing.
func (m *Model) Apply(e rundir.Event) {
	switch e.Type {
	case rundir.EventAgent: // first, for nearly all are
		applied(e, m.acts)
	case rundir.EventCharge:
		applied(e, m.pay)
	case rundir.EventFiles:
		applied(e, func(f rundir.Files) { m.files = f.Changed })
	case rundir.EventStart:
		applied(e, func(s rundir.Start) { m.start(e.Time, s) })
	case rundir.EventStop:
		applied(e, func(s rundir.Stop) { m.stop(e.Time, s) })
	case rundir.EventState:
		applied(e, m.save)
	case rundir.EventBegin:
		m.begin(e)
	case rundir.EventOutcome:
		applied(e, func(o rundir.Outcome) { m.judged(e.Time, o) })
	case rundir.EventAgentExit:
		m.enter(validating, e.Time)
	case rundir.EventIteration:
		m.iteration = max(m.iteration, e.Iteration)
		m.enter(preparing, e.Time)
	case rundir.EventWait:
		applied(e, func(w rundir.Wait) { m.waits(e.Time, w) })
	case rundir.EventBreaker:
		applied(e, func(b rundir.Breaker) { m.breaker = b })
	case rundir.EventQuestion:
		applied(e, func(q rundir.Question) { m.question = q })
	case rundir.EventAnswer:
		m.question = rundir.Question{}
	case rundir.EventRequest:
		applied(e, func(a rundir.Asked) { m.ask(e.Time, a) })
	}
	m.last = e.Time
}

// applied hands the data of an event on, if it can be read and is whole.
func applied[T any](e rundir.Event, do func(T)) {
	if _, large := clipped(e.Data); large {
		return
	}
	if value, ok := decode[T](e.Data); ok {
		do(value)
	}
}

func (m *Model) enter(p phase, at time.Time) {
	if m.phase != ending {
		m.phase, m.since = p, at
	}
}

// start takes up the run. Of a session that was killed, all counts up to its last
// event.
func (m *Model) start(at time.Time, s rundir.Start) {
	if m.running {
		m.before += max(0, m.last.Sub(m.started))
	}
	m.running, m.started, m.status = true, at, rundir.Running
	m.agent, m.engine, m.limits = join(" with ", s.Agent, s.Model), s.Engine, s.Limits
	m.wait, m.breaker, m.question, m.asked = rundir.Wait{}, rundir.Breaker{}, rundir.Question{}, ""
	m.action, m.files = action{}, 0
	m.phase, m.since = preparing, at
}

func (m *Model) stop(at time.Time, s rundir.Stop) {
	if m.running {
		m.before += max(0, at.Sub(m.started))
	}
	m.running, m.status = false, s.Status
	m.phase, m.since = ending, at
}

// save takes the status from the seal of state.json.
func (m *Model) save(seal struct {
	Status rundir.Status `json:"status"`
}) {
	if seal.Status != "" {
		m.status = seal.Status
	}
}

func (m *Model) begin(e rundir.Event) {
	m.iteration, m.files = e.Iteration, 0
	m.action, m.wait = action{}, rundir.Wait{}
	m.enter(working, e.Time)
}

// judged goes back to the start when the attempt is made again. Otherwise the work
// is looked at.
func (m *Model) judged(at time.Time, o rundir.Outcome) {
	if o.Again {
		m.enter(preparing, at)
	}
}

func (m *Model) pay(s rundir.Spend) {
	m.cost = m.cost.Add(max(0, s.CostUSD))
	m.tokens += min(max(0, s.Tokens.Total()), 1<<40)
}

// acts keeps the last use of a tool, and words only until there is one: who
// watches wants to know what is being done.
func (m *Model) acts(a action) {
	if a.Kind == agent.ToolCall || a.Kind == agent.Text && m.action.Kind != agent.ToolCall {
		m.action = a
	}
}

func (m *Model) waits(at time.Time, w rundir.Wait) {
	m.wait = w
	if m.breaker.State == "open" {
		m.enter(coolingDown, at)
		return
	}
	m.enter(waiting, at)
}

func (m *Model) ask(at time.Time, a rundir.Asked) {
	if m.asked != rundir.StopRequest {
		m.asked, m.askedBy = a.Request, a.By
	}
	if a.Request == rundir.StopRequest {
		m.enter(ending, at)
	}
}
