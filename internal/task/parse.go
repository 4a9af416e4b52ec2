package task

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Files are the names a task file may have, in the order they are looked for.
func Files() []string { return []string{"prd.json", "tasks.json"} }

const (
	maxList     = 1 << 20
	maxStories  = 1000
	maxItems    = 200 // criteria, dependencies or commands in one list
	maxTitle    = 512
	maxText     = 16 << 10
	maxPriority = 1_000_000
)

// storyID is what can stand in a commit message, a branch and a table.
var storyID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

// Load reads a task file of the workspace.
func Load(root *os.Root, name string) (*List, error) {
	data, err := readText(root, name, maxList)
	if err != nil {
		return nil, err
	}
	list, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", name, err)
	}
	return list, nil
}

// Parse reads a task file strictly. Its error names all that is wrong, up to a
// limit, except that nothing more is said about text that is not JSON.
func Parse(data []byte) (*List, error) {
	if len(data) > maxList {
		return nil, fmt.Errorf("the task list is larger than %d KiB", maxList>>10)
	}
	list := &List{}
	if err := json.Unmarshal(data, list, json.RejectUnknownMembers(true)); err != nil {
		return nil, explain(err, data)
	}
	if err := list.check(); err != nil {
		return nil, err
	}
	return list, nil
}

// explain says where in the file the mistake is, in the file's own words.
func explain(err error, data []byte) error {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		name := semantic.JSONPointer.LastToken()
		return fmt.Errorf("line %d: unknown name %.64q%s", lineAt(data, semantic.ByteOffset), name, didYouMean(name, namesAt(semantic.JSONPointer)))
	case errors.As(err, &semantic):
		return fmt.Errorf("line %d: %.128s cannot be a %v", lineAt(data, semantic.ByteOffset), semantic.JSONPointer, kindWord(semantic))
	case errors.As(err, &syntactic):
		return fmt.Errorf("line %d: %w", lineAt(data, syntactic.ByteOffset), syntactic.Err)
	}
	return fmt.Errorf("reading the task list: %w", err)
}

func kindWord(err *json.SemanticError) string {
	words := map[jsontext.Kind]string{'n': "null", 'f': "boolean", 't': "boolean", '"': "string", '0': "number like that", '{': "object", '[': "list"}
	if word, ok := words[err.JSONKind]; ok {
		return word
	}
	return "value of that kind"
}

func lineAt(data []byte, offset int64) int {
	return 1 + strings.Count(string(data[:min(max(offset, 0), int64(len(data)))]), "\n")
}

// namesAt lists the names that an object may have: those of a story below
// /userStories/0, or else those of the file.
func namesAt(pointer jsontext.Pointer) []string {
	kind := reflect.TypeFor[List]()
	if strings.HasPrefix(string(pointer), "/userStories/") {
		kind = reflect.TypeFor[Story]()
	}
	var names []string
	for i := range kind.NumField() {
		name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// problems collects what is wrong, up to a limit.
type problems []error

func (p *problems) add(format string, args ...any) {
	if len(*p) < maxProblems {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// texts reports each string of a list that check objects to.
func (p *problems) texts(where string, list []string, check func(string, int) string) {
	if len(list) > maxItems {
		p.add("%s has %d entries; at most %d are taken", where, len(list), maxItems)
		return
	}
	for i, s := range list {
		if why := check(s, maxText); why != "" {
			p.add("%s[%d] %s", where, i, why)
		}
	}
}

func (p *problems) text(where, s string, limit int) {
	if why := badText(s, limit); why != "" {
		p.add("%s %s", where, why)
	}
}

func (l *List) check() error {
	if len(l.Stories) == 0 {
		return errors.New("userStories is missing or empty")
	}
	if len(l.Stories) > maxStories {
		return fmt.Errorf("there are %d stories; at most %d are taken", len(l.Stories), maxStories)
	}
	var p problems
	p.text("project", l.Project, maxTitle)
	p.text("branchName", l.Branch, maxTitle)
	p.text("description", l.Description, maxText)
	p.texts("verifyCommands", l.VerifyCommands, badLine)
	for i, s := range l.Stories {
		s.check(&p, i)
	}
	if len(p) == 0 {
		l.checkGraph(&p)
	}
	return errors.Join(p...)
}

func (s *Story) check(p *problems, index int) {
	where := fmt.Sprintf("story %s", s.ID)
	if !storyID().MatchString(s.ID) {
		where = fmt.Sprintf("userStories[%d]", index)
		p.add("%s: id %.80q is not 1 to 64 letters, digits, dots, dashes and underscores", where, s.ID)
	}
	if why := badLine(s.Title, maxTitle); why != "" {
		p.add("%s: title %s", where, why)
	}
	if s.Priority < 0 || s.Priority > maxPriority {
		p.add("%s: priority %d is not from 1 to %d", where, s.Priority, maxPriority)
	}
	if s.ReviewCount < 0 || s.ReviewCount > maxPriority {
		p.add("%s: reviewCount %d is out of range", where, s.ReviewCount)
	}
	p.text(where+": description", s.Description, maxText)
	p.text(where+": notes", s.Notes, maxText)
	p.text(where+": reviewFeedback", s.ReviewFeedback, maxText)
	p.texts(where+": acceptanceCriteria", s.Acceptance, func(s string, limit int) string {
		if strings.TrimSpace(s) == "" {
			return "is empty"
		}
		return badText(s, limit)
	})
	p.texts(where+": dependsOn", s.DependsOn, badLine)
	s.checkReview(p, where)
}

func (s *Story) checkReview(p *problems, where string) {
	if s.ReviewStatus == nil {
		return
	}
	switch *s.ReviewStatus {
	case "needs_review", "changes_requested", "approved":
	default:
		p.add("%s: reviewStatus %.64q is not null, needs_review, changes_requested or approved", where, *s.ReviewStatus)
	}
}
