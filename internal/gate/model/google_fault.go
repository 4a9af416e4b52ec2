package model

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of details that errors of Google's have.
const (
	errorInfo    = "type.googleapis.com/google.rpc.ErrorInfo"
	retryInfo    = "type.googleapis.com/google.rpc.RetryInfo"
	quotaFailure = "type.googleapis.com/google.rpc.QuotaFailure"
)

// googleFault is what an error of Google's says.
type googleFault struct {
	status string        // such as RESOURCE_EXHAUSTED
	reason string        // such as API_KEY_INVALID
	wait   time.Duration // what it asks for
	daily  bool          // the quota of a day is used up
}

// readGoogleFault reads an error's body. Of one that is none it is empty; a
// detail that is not understood does not hide the others.
func readGoogleFault(body []byte) googleFault {
	var answer struct {
		Error struct {
			Status  string           `json:"status"`
			Details []jsontext.Value `json:"details"`
		} `json:"error"`
	}
	if len(body) == 0 || json.Unmarshal(body, &answer) != nil {
		return googleFault{}
	}
	fault := googleFault{status: answer.Error.Status}
	for _, detail := range answer.Error.Details {
		fault.read(detail)
	}
	return fault
}

func (f *googleFault) read(detail jsontext.Value) {
	var d struct {
		Type       string `json:"@type"`
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"` // such as 34.07s
		Violations []struct {
			QuotaID string `json:"quotaId"`
		} `json:"violations"`
	}
	if json.Unmarshal(detail, &d) != nil {
		return
	}
	switch d.Type {
	case errorInfo:
		f.reason = d.Reason
	case retryInfo:
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 && wait < farthest {
			f.wait = wait
		}
	case quotaFailure:
		for _, v := range d.Violations {
			f.daily = f.daily || strings.Contains(v.QuotaID, "PerDay")
		}
	}
}

// name is the more telling of status and reason.
func (f googleFault) name() string {
	if f.reason != "" {
		return f.reason
	}
	return f.status
}

// badKey tells Google's word for a 401, which comes with status 400.
func (f googleFault) badKey() bool {
	return f.reason == "API_KEY_INVALID" || f.status == "UNAUTHENTICATED"
}

// until is when calls may be made again; zero if that is not told. The quotas of
// a day begin anew at midnight in California, whatever wait is asked for. That is
// at 8:00 UTC, and an hour earlier in summer.
func (f googleFault) until(now time.Time) time.Time {
	if f.daily {
		day := now.UTC().Truncate(24 * time.Hour).Add(8 * time.Hour)
		if !day.After(now) {
			day = day.Add(24 * time.Hour)
		}
		return day
	}
	if f.wait == 0 {
		return time.Time{}
	}
	return now.Add(f.wait)
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
