package task

import (
	_ "embed"
)

// The words by which an agent tells the loop how it stands, alone on a line.
// The loop checks a claim to be complete; it never takes the agent's word.
const (
	CompleteTag   = "<promise>COMPLETE</promise>"
	BlockedPrefix = "<promise>BLOCKED:"
	DecidePrefix  = "<promise>DECIDE:"
	TagSuffix     = "</promise>"
)

//go:embed starter.md
var starterPrompt string

// StarterPrompt is the prompt that a new project begins with.
func StarterPrompt() string { return starterPrompt }

// StarterList is the task file that a new project begins with: one story, to be
// replaced, that shows every field a user writes.
func StarterList(project string) *List {
	return &List{
		Project:     project,
		Description: "Replace this with what is to be built, and the story below with your own.",
		Stories: []Story{{
			ID:          "US-001",
			Title:       "Say in the README how to build and test this project",
			Description: "As a newcomer I want to build and test this project without asking anybody.",
			Acceptance: []string{
				"README.md has a section that gives the exact commands",
				"The commands were run and work",
				"The validation command passes",
			},
			Priority: 1,
		}},
	}
}
