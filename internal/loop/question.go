package loop

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/wholefile"
)

const (
	// questionFile is where a question and its answer are, below the run's folder:
	// in logs, which no sandbox can write.
	questionFile = "logs/question.md"
	// answerLine parts the answer from the question.
	answerLine = "---"
	// howToAnswer stands below the question.
	howToAnswer = "\n\nWrite the answer below the line, then: ralph resume\n"

	maxAnswer = 64 << 10
)

// asks tells whether the agent needs a person, whatever the gate saw.
func (it *iteration) asks() bool {
	kind := it.attempt.outcome.Marker.Kind
	return kind == agent.BlockedMarker || kind == agent.DecideMarker
}

// question ends the run with what the agent asks.
func (it *iteration) question() rundir.Stop {
	m := it.attempt.outcome.Marker
	if m.Kind == agent.DecideMarker {
		return asks("the agent asks: ", m.Text)
	}
	return asks("the agent is blocked: ", m.Text)
}

// maxAsked is how much of a question stands in the reason of a stop.
const maxAsked = 300

func asks(what, text string) rundir.Stop {
	return rundir.Stop{Status: rundir.NeedsAttention, Reason: what + plaintext.Line(text, maxAsked)}
}

// putQuestion puts a question where a person can answer it, once the checkpoint
// has it: the answer to the one before would be lost otherwise. It is taken from
// there, where no secret is in it.
func (r *runner) putQuestion(it *iteration) {
	if !it.asks() {
		return
	}
	_, saved, err := r.Run.LastCheckpoint()
	q := rundir.Question{
		Kind: string(it.attempt.outcome.Marker.Kind), Text: saved.Question,
		File: filepath.Join(r.Run.Path(), filepath.FromSlash(questionFile)),
	}
	if err == nil {
		err = replaceQuestion(r.Run.Path(), visible(q.Text)+howToAnswer+"\n"+answerLine+"\n")
	}
	if err != nil {
		r.note(rundir.EventNote, it.n, rundir.Note{Text: err.Error()})
	}
	r.note(rundir.EventQuestion, it.n, q)
}

// visible is a hostile text without what a terminal would obey, and without the
// line that parts question and answer.
func visible(text string) string {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	return strings.ReplaceAll(text, answerLine, "- -")
}

// replaceQuestion writes the file of question and answer of a run. One that came
// from elsewhere can have a link there.
func replaceQuestion(run, text string) error {
	root, err := os.OpenRoot(run)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := wholefile.Replace(root, questionFile, []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", filepath.Base(questionFile), err)
	}
	return nil
}

// readQuestion returns what is in the file of question and answer, or nothing where
// there is none. No link is followed, nor is a pipe waited for.
func readQuestion(run string) (string, error) {
	root, err := os.OpenRoot(run)
	if err != nil {
		return "", err
	}
	defer root.Close()
	info, err := root.Lstat(questionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is a link or no regular file", questionFile)
	}
	if err != nil {
		return "", err
	}
	file, err := root.Open(questionFile)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxAnswer))
	return string(text), err
}

// ReadAnswer returns what a person wrote below the question of a run, given its
// folder; empty: nothing yet.
func ReadAnswer(run string) (string, error) {
	a, err := readAnswer(run)
	return a.Answer, err
}

// readAnswer returns the question as well, as it stands there.
func readAnswer(run string) (rundir.Answer, error) {
	text, err := readQuestion(run)
	if err != nil {
		return rundir.Answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	unix := strings.ReplaceAll(text, "\r\n", "\n") // some editors
	above, answer, _ := strings.Cut(unix, "\n"+answerLine+"\n")
	question, _, _ := strings.Cut(above, howToAnswer)
	return rundir.Answer{Question: strings.TrimSpace(question), Answer: strings.TrimSpace(answer)}, nil
}

// WriteAnswer puts an answer below the question of a run, given its folder, as a
// person would with an editor. It is read when the run is taken up.
func WriteAnswer(run, answer string) error {
	question, err := readQuestion(run)
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	before, _, _ := strings.Cut(question, "\n"+answerLine+"\n")
	return replaceQuestion(run, before+"\n"+answerLine+"\n"+answer+"\n")
}

// takeAnswer moves a person's answer into what the next iteration is told. The file
// stays until that is saved.
func (r *runner) takeAnswer() error {
	a, err := readAnswer(r.Run.Path())
	if a.Answer == "" || err != nil {
		return err
	}
	if a.Question == "" { // the file is gone, and the answer was given all the same
		a.Question = r.checkpoint.Question
	}
	if !slices.Contains(r.checkpoint.Answers, a) {
		r.checkpoint.Answers = append(r.checkpoint.Answers, a)
		r.note(rundir.EventAnswer, 0, a)
	}
	r.answered = true
	return nil
}

// forgetAnswer removes the question when its answer is in a checkpoint.
func (r *runner) forgetAnswer() {
	if r.answered {
		_ = os.Remove(filepath.Join(r.Run.Path(), filepath.FromSlash(questionFile)))
		r.answered = false
	}
}

// answers is all that was answered, for a prompt.
func answers(c rundir.Checkpoint) string {
	var text strings.Builder
	for _, a := range c.Answers {
		if a.Question != "" {
			fmt.Fprintf(&text, "Question: %s\n", a.Question)
		}
		fmt.Fprintf(&text, "Answer: %s\n\n", a.Answer)
	}
	return strings.TrimSpace(text.String())
}
