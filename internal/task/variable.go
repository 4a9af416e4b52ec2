package task

import (
	"strconv"
	"strings"

	"github.com/agent-loop/ralph/internal/suggest"
)

// Values is what the variables of a prompt stand for in one iteration.
type Values struct {
	Iteration     int    // counts from 1
	MaxIterations int    // 0: no limit
	Limits        string // what is left of the budgets
	Task          string // the story to work on, as Story.Text has it
	LastFailure   string // what the last validation said
	Answers       string // of a person, to questions of the agent
	Progress      string // the end of the progress file
	Validation    string // the command that must pass
}

// Variable is one name that a prompt may use between double braces.
type Variable struct {
	Name string
	Doc  string

	value func(Values) string
}

// Variables lists them all.
func Variables() []Variable {
	return []Variable{
		{"iteration", "the number of this iteration, from 1", func(v Values) string { return strconv.Itoa(v.Iteration) }},
		{"max_iterations", "how many there may be, or \"unlimited\"", maxIterations},
		{"limits", "what is left of the budgets", func(v Values) string { return v.Limits }},
		{"task", "the next story of the task file", func(v Values) string { return v.Task }},
		{"last_failure", "what the last validation said, if it failed", func(v Values) string { return v.LastFailure }},
		{"answers", "a person's answers to the agent's questions", func(v Values) string { return v.Answers }},
		{"progress", "the end of progress.txt", func(v Values) string { return v.Progress }},
		{"validation", "the command that must pass", func(v Values) string { return v.Validation }},
		{"RALPH_ITERATION", "the same as iteration", func(v Values) string { return strconv.Itoa(v.Iteration) }},
		{"RALPH_MAX_ITERATIONS", "the same as max_iterations", maxIterations},
	}
}

func maxIterations(v Values) string {
	if v.MaxIterations == 0 {
		return "unlimited"
	}
	return strconv.Itoa(v.MaxIterations)
}

func variable(name string) (Variable, bool) {
	for _, v := range Variables() {
		if v.Name == name {
			return v, true
		}
	}
	return Variable{}, false
}

func variableNames() []string {
	var names []string
	for _, v := range Variables() {
		names = append(names, v.Name)
	}
	return names
}

// didYouMean ends a message about an unknown word.
func didYouMean(word string, candidates []string) string {
	if near := suggest.Nearest(word, candidates); near != "" {
		return "; did you mean " + strconv.Quote(near) + "?"
	}
	return "; there are " + strings.Join(candidates, ", ")
}
