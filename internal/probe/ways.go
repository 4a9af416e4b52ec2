package probe

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A way is one route to what a probe is after. Its try returns nil when the
// route is open, which is the breach; any other error is the refusal.
type way struct {
	what string
	try  func() error
}

// errNotTried marks an error that came before the attempt itself. It proves
// nothing about the boundary, so the probe counts as not tried.
var errNotTried = errors.New("could not be tried")

func notTried(err error) error { return fmt.Errorf("%w: %w", errNotTried, err) }

// ways makes the Run of a probe that goes each way in turn.
func ways(list func(Facts) []way) func(Facts) Result {
	return func(f Facts) Result { return tryEach(list(f)) }
}

// tryEach stops at the first way that is open. All ways must have been tried
// for the verdict blocked; no way at all means that the facts name nothing to
// attack.
func tryEach(list []way) Result {
	if len(list) == 0 {
		return notApplicable("the facts name nothing to try this on")
	}
	var refusals, problems []string
	for _, w := range list {
		switch err := w.try(); {
		case err == nil:
			return breach("%s: it worked", w.what)
		case errors.Is(err, errNotTried):
			problems = append(problems, w.what+": "+err.Error())
		default:
			refusals = append(refusals, w.what+": "+err.Error())
		}
	}
	if len(problems) > 0 {
		return failed("%s", strings.Join(problems, "; "))
	}
	return blocked("%d tried; %s", len(refusals), strings.Join(refusals, "; "))
}

// manyUp is the part of a path that only climbs; people need not read it all.
var manyUp = regexp.MustCompile(`(\.\./){3,}/*`)

// eachPath makes a way for every path that is not empty.
func eachPath(verb string, try func(path string) error, paths ...string) []way {
	var list []way
	for _, path := range paths {
		if path != "" {
			what := verb + " " + manyUp.ReplaceAllString(path, ".../")
			list = append(list, way{what, func() error { return try(path) }})
		}
	}
	return list
}
