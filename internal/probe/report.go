package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Verdict says how an attempt ended.
type Verdict string

const (
	// Blocked means that the boundary held.
	Blocked Verdict = "blocked"
	// Breach means that the attempt worked.
	Breach Verdict = "breach"
	// Failed means that the attempt could not be made, which proves nothing.
	Failed Verdict = "error"
	// NotApplicable means that there is nothing to attempt here; the detail
	// says why.
	NotApplicable Verdict = "n/a"
)

// Result is a verdict and what it rests on.
type Result struct {
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail"`
}

// Report is the line that Main prints.
type Report struct {
	Name string `json:"name"`
	Result
}

// maxDetail and maxReport bound what the host takes from inside.
const (
	maxDetail = 600
	maxReport = 8 << 10
)

// Decode reads the report that ends a probe's output. The output comes from
// inside a sandbox, so nothing in it is trusted: not its size, its form nor its
// verdict, and a report of another probe is refused.
func Decode(name string, output []byte) (Report, error) {
	line := lastLine(output)
	switch {
	case len(line) == 0:
		return Report{}, errors.New("the probe printed no report")
	case len(line) > maxReport:
		return Report{}, errors.New("the probe's report is too long")
	}
	var r Report
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return Report{}, fmt.Errorf("reading the probe's report: %w", err)
	}
	if dec.More() {
		return Report{}, errors.New("the probe's report is followed by more")
	}
	if r.Name != name {
		return Report{}, fmt.Errorf("the report is of probe %.40q, not of %q", r.Name, name)
	}
	switch r.Verdict {
	case Blocked, Breach, Failed, NotApplicable:
	default:
		return Report{}, fmt.Errorf("the report has an unknown verdict %.40q", r.Verdict)
	}
	r.Detail = clean(r.Detail, Facts{})
	return r, nil
}

func lastLine(output []byte) []byte {
	output = bytes.TrimRight(output, "\r\n")
	if i := bytes.LastIndexByte(output, '\n'); i >= 0 {
		output = output[i+1:]
	}
	return output
}

// clean makes a detail fit to show: one line, of bounded length, without the
// secret and without characters that a terminal would obey.
func clean(detail string, f Facts) string {
	if f.Secret != "" {
		detail = strings.ReplaceAll(detail, string(f.Secret), "[secret]")
	}
	detail = strings.Map(func(r rune) rune {
		if r < ' ' || (r >= 0x7f && r < 0xa0) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(detail, "?"))
	if len(detail) > maxDetail {
		detail = strings.ToValidUTF8(detail[:maxDetail], "") + "..."
	}
	return detail
}

func blocked(format string, args ...any) Result {
	return Result{Blocked, fmt.Sprintf(format, args...)}
}

func breach(format string, args ...any) Result {
	return Result{Breach, fmt.Sprintf(format, args...)}
}

func failed(format string, args ...any) Result {
	return Result{Failed, fmt.Sprintf(format, args...)}
}

func notApplicable(format string, args ...any) Result {
	return Result{NotApplicable, fmt.Sprintf(format, args...)}
}
