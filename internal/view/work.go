package view

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/rundir"
)

// Work is what came home of a run, as its events tell.
type Work struct {
	Import    rundir.Import      `json:"import"`            // the last that was taken, since the last rewind
	Refused   string             `json:"refused,omitzero"`  // why one after it was not
	Confirmed *rundir.Validation `json:"confirmed"`         // the last validation that confirms, since then
	Rewinds   []Rewound          `json:"rewinds,omitempty"` // first to last
	Push      *rundir.Push       `json:"push"`              // the last
}

// Rewound is one time that a run was taken back.
type Rewound struct {
	At            time.Time `json:"at"`
	rundir.Rewind `json:",inline"`
}

// WorkEvents are the types of events that make a Work.
func WorkEvents() []string {
	return []string{rundir.EventImport, rundir.EventValidation, rundir.EventRewind, rundir.EventPush}
}

// Take takes in the next event. One that cannot be read changes nothing.
func (w *Work) Take(e rundir.Event) {
	switch e.Type {
	case rundir.EventImport:
		taken(e, w.imported)
	case rundir.EventValidation:
		taken(e, func(v rundir.Validation) {
			if v.Confirms {
				w.Confirmed = &v
			}
		})
	case rundir.EventRewind:
		taken(e, func(r rundir.Rewind) {
			*w = Work{Rewinds: append(w.Rewinds, Rewound{e.Time, r}), Push: w.Push}
		})
	case rundir.EventPush:
		taken(e, func(p rundir.Push) { w.Push = &p })
	}
}

func taken[T any](e rundir.Event, do func(T)) {
	var data T
	if json.Unmarshal(e.Data, &data) == nil {
		do(data)
	}
}

// imported keeps what was taken before when nothing was: it is there still.
func (w *Work) imported(i rundir.Import) {
	if w.Refused = i.Refused; i.Refused == "" {
		w.Import = i
	}
}

// HasWork tells whether commits of a run came home.
func HasWork(s rundir.State) bool {
	return s.Branch != "" && s.Commit != "" && s.Commit != s.Base
}

// Commit is how people write the name of a commit. It is not safe yet.
func Commit(name string) string { return name[:min(len(name), 12)] }

// Verified tells whether what a run came to was verified as it is now, and how, or
// why not, in a text that is not safe yet.
func Verified(s rundir.State) (ok bool, how string) {
	v := s.Verification
	if v == nil {
		return false, "no validation has confirmed it"
	}
	on := "on the files as they were"
	if v.Commit != "" {
		on = "on a clean checkout of " + Commit(v.Commit)
	}
	switch {
	case v.Outcome == rundir.NotVerified:
		return false, joined(": ", "the validation failed "+on, v.Reason)
	case v.Outcome != rundir.Verified:
		return false, joined(": ", "it could not be verified here", v.Reason)
	case v.Commit != s.Commit:
		return false, fmt.Sprintf("it passed %s, and the branch is at %s now", on, Commit(s.Commit))
	}
	return true, on
}

// verified is the last verification of a run, if there was one.
func verified(s rundir.State) fact {
	if s.Verification == nil {
		return fact{}
	}
	ok, how := Verified(s)
	if ok {
		return fact{"verified", "yes, " + how}
	}
	return fact{"verified", "no: " + how}
}

// branch says where the commits of a run are.
func branch(s rundir.State) fact {
	if !HasWork(s) {
		return fact{}
	}
	return fact{"branch", joined(" at ", s.Branch, Commit(s.Commit))}
}

// work is what there is to know about the commits of a run.
func (d detail) work(r Run) []fact {
	facts := []fact{branch(r.State), {"base", Commit(r.Base)}, verified(r.State)}
	if held := r.Work.Import.Held; held != "" {
		facts = append(facts, fact{"held back", held})
	}
	if why := r.Work.Refused; why != "" {
		facts = append(facts, fact{"refused", why})
	}
	if p := r.Work.Push; p != nil {
		facts = append(facts, fact{"pushed", joined(": not done: ", Commit(p.Commit)+" to "+p.Branch+" of "+p.Remote, p.Error)})
	}
	return facts
}

// maxPaths is how many paths of a kind are listed.
const maxPaths = 20

// workBlocks lists what a person should look at before the work is used.
func (d detail) workBlocks(w Work) {
	d.block("changed, and programs of yours would obey them", some(w.Import.Protected))
	d.block("new links to other repositories", some(w.Import.Links))
	if w.Confirmed != nil {
		d.block("check files that differ from the base's, which were used instead", some(w.Confirmed.Trusted))
	}
	var lines []string
	for _, r := range w.Rewinds {
		to := fmt.Sprintf("iteration %d", r.To)
		if r.To == 0 {
			to = "its beginning"
		}
		lines = append(lines, joined(", ", moment(r.At, d.now.Location())+" to "+to, Commit(r.Commit)))
	}
	d.block("taken back", lines)
}

// some is the beginning of a list.
func some(list []string) []string {
	if len(list) <= maxPaths {
		return list
	}
	return append(list[:maxPaths:maxPaths], fmt.Sprintf("... and %d more", len(list)-maxPaths))
}
