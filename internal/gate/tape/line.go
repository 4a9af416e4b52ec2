package tape

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// How an exchange ended.
const (
	complete = "complete"
	upstream = "upstream"
	client   = "client"
)

// line is one exchange as the tape holds it.
type line struct {
	Tape       int         `json:"tape"`
	Seq        int         `json:"seq"`
	Beside     []int       `json:"beside,omitempty"`
	Credential string      `json:"credential,omitempty"`
	Method     string      `json:"method"`
	Path       string      `json:"path"`
	Query      string      `json:"query,omitempty"`
	Request    body        `json:"request"`
	Status     int         `json:"status,omitzero"`
	Header     http.Header `json:"header,omitempty"`
	Response   body        `json:"response"`
	End        string      `json:"end"`
	Error      string      `json:"error,omitempty"`
	Bytes      int64       `json:"bytes"`
	DurationMS int64       `json:"duration_ms"`
}

// encode gives the line with its line end. A line that a Player would refuse for
// its length loses its bodies.
func (l *line) encode(limit int) ([]byte, error) {
	text, err := json.Marshal(l, json.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("encoding exchange %d: %w", l.Seq, err)
	}
	if len(text) < limit {
		return append(text, '\n'), nil
	}
	if l.Request.Omitted != "" && l.Response.Omitted != "" {
		return nil, fmt.Errorf("encoding exchange %d: the line has %d bytes", l.Seq, len(text))
	}
	l.Request, l.Response = body{Omitted: tooLarge}, body{Omitted: tooLarge}
	return l.encode(limit)
}

// decode reads a line, which may come from anybody.
func decode(text []byte) (*line, error) {
	// First the version alone: a later one may have fields that this one lacks.
	var head struct {
		Tape int `json:"tape"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("not an exchange: %w", err)
	}
	if head.Tape != version {
		return nil, fmt.Errorf("version %d of the format; this program reads version %d", head.Tape, version)
	}
	l := &line{}
	if err := json.Unmarshal(text, l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not an exchange: %w", err)
	}
	return l, l.check()
}

// check refuses what no Recorder writes.
func (l *line) check() error {
	switch {
	case l.Seq < 1 || l.Seq > maxExchanges:
		return fmt.Errorf("seq %d is out of range", l.Seq)
	case len(l.Beside) > maxBeside:
		return fmt.Errorf("%d exchanges in parallel", len(l.Beside))
	case slices.ContainsFunc(l.Beside, func(seq int) bool { return seq < 1 || seq >= l.Seq }):
		return errors.New("an exchange can only run beside one that began before it")
	case l.Credential != "" && !isWord(l.Credential):
		return fmt.Errorf("%.20q is not a kind of credential", l.Credential)
	case !isWord(l.Method):
		return fmt.Errorf("%.20q is not a method", l.Method)
	case !strings.HasPrefix(l.Path, "/") || len(l.Path) > maxPath:
		return fmt.Errorf("%.100q is not a path", l.Path)
	case !slices.Contains([]string{complete, upstream, client}, l.End):
		return fmt.Errorf("%.20q is not an end", l.End)
	case l.End == complete && l.Status == 0, l.Status != 0 && (l.Status < 100 || l.Status > 999):
		return fmt.Errorf("%d is not a status", l.Status)
	case l.Bytes < 0 || l.DurationMS < 0:
		return errors.New("a negative count")
	}
	return errors.Join(checkHeader(l.Header), l.Request.check(), l.Response.check())
}

func checkHeader(header http.Header) error {
	for name, values := range header {
		if !keptHeader(name) || http.CanonicalHeaderKey(name) != name {
			return fmt.Errorf("%.40q is not a header that is kept", name)
		}
		for _, value := range values {
			if hasControl(value) {
				return fmt.Errorf("a control character in the header %s", name)
			}
		}
	}
	return nil
}

// keptHeader tells which headers of an answer are recorded: those that a client
// acts on. Cookies and all that nobody has thought of are not.
func keptHeader(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "content-type", "retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id":
		return true
	}
	return strings.HasPrefix(name, "anthropic-ratelimit-") || strings.HasPrefix(name, "x-ratelimit-")
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// isWord takes what can be a method that net/http would send, within reason.
func isWord(text string) bool {
	return text != "" && len(text) <= 100 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
