package notify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	firstPause    = 500 * time.Millisecond
	maxRetryAfter = 15 * time.Second
)

// failure is a try that failed.
type failure struct {
	cause error
	again bool          // another try may help
	pause time.Duration // the server asks for this before the next try
}

func (f *failure) Error() string { return f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

// judge is the failure that an answer means, or nil.
func judge(response *http.Response) error {
	status := response.StatusCode
	if status >= 200 && status < 300 {
		return nil
	}
	cause := fmt.Errorf("the server answered %d %s", status, http.StatusText(status))
	if status >= 300 && status < 400 {
		cause = fmt.Errorf("%w, which is not followed: use the address it leads to", cause)
	}
	return &failure{
		cause: cause,
		again: isPassing(status),
		pause: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
}

// isPassing tells the answers after which the same request may succeed.
func isPassing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// retryAfter reads how long a server wants to be left alone, in seconds or as a
// date: never less than nothing, never more than maxRetryAfter.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		if !(seconds > 0) { // true of NaN as well
			return 0
		}
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// retry repeats what fails. Its functions are fields so that tests need no time.
type retry struct {
	tries   int
	tryTime time.Duration
	pause   func(try int) time.Duration
	wait    func(ctx context.Context, pause time.Duration) error
}

func newRetry() retry {
	return retry{tries: maxTries, tryTime: tryTime, pause: backoff, wait: wait}
}

// do calls attempt until it succeeds, fails for good, or has no tries left.
func (r retry) do(ctx context.Context, attempt func(context.Context) error) error {
	for try := 1; ; try++ {
		err := attempt(ctx)
		var failed *failure
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &failed) || !failed.again || ctx.Err() != nil:
			return err
		case try >= r.tries:
			return fmt.Errorf("after %d tries: %w", try, err)
		}
		if stopped := r.wait(ctx, max(r.pause(try), failed.pause)); stopped != nil {
			return fmt.Errorf("%w; no time for another try: %w", err, stopped)
		}
	}
}

// backoff doubles with every try; half of it is chance, so that many senders that
// failed together do not come back together.
func backoff(try int) time.Duration {
	full := firstPause << (try - 1)
	return full/2 + rand.N(full/2)
}

// wait returns at once if ctx would end before the pause does.
func wait(ctx context.Context, pause time.Duration) error {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
