// Package task is where work comes from: the prompt file with its variables,
// the task file (prd.json or tasks.json) and the tail of progress.txt.
//
// The agent can write all of these while it works, so every byte is hostile.
// Files are read through an os.Root, never through a link, never past a cap.
// Values that go into a prompt are inserted once and not looked at again: text
// that an agent left behind cannot name a variable.
//
// # The task file
//
// Both names hold the same form: an object with project, branchName,
// description, verifyCommands and userStories. A story has id, title,
// description, acceptanceCriteria, priority (1 is first, none is last),
// dependsOn, passes, notes, reviewStatus, reviewCount and reviewFeedback.
// Reading is strict: an unknown or repeated name, a second story of the same id,
// a dependency that is missing or leads back to itself is an error.
//
// # Who may change what
//
// What is to be done is the user's; how far it got is the agent's. An agent may
// change passes, notes and the review fields. Anything else that differs from
// the version the run started with is a violation, and is not taken over: see
// Diff and Watch.
package task
