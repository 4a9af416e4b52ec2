package notify

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"3":                             3 * time.Second,
		"0.25":                          250 * time.Millisecond,
		"15":                            15 * time.Second,
		"16":                            15 * time.Second,
		"1e300":                         15 * time.Second,
		"Inf":                           15 * time.Second,
		"-1":                            0,
		"NaN":                           0,
		"soon":                          0,
		"Fri, 02 Jan 2026 03:04:12 GMT": 7 * time.Second,
		"Fri, 02 Jan 2026 04:04:12 GMT": 15 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "3", "-1", "NaN", "1e999", "0x1p-2", "Fri, 02 Jan 2026 03:04:12 GMT", "Fri, 02 Jan 9999 03:04:12 GMT"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryAfter(value, time.Now()); got < 0 || got > maxRetryAfter {
			t.Errorf("%q: %v", value, got)
		}
	})
}

func TestBackoffDoublesAndVaries(t *testing.T) {
	for try, full := range map[int]time.Duration{1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second} {
		seen := map[time.Duration]bool{}
		for range 100 {
			pause := backoff(try)
			seen[pause] = true
			if pause < full/2 || pause > full {
				t.Errorf("try %d: %v is not between %v and %v", try, pause, full/2, full)
			}
		}
		if len(seen) < 50 {
			t.Errorf("try %d: only %d different pauses of 100", try, len(seen))
		}
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := wait(ctx, 10*time.Second); err != nil || time.Since(start) != 10*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if err := wait(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("a pause that is too long: got %v after %v", err, time.Since(start))
		}
		time.AfterFunc(time.Second, cancel)
		if err := wait(ctx, 20*time.Second); !errors.Is(err, context.Canceled) || time.Since(start) != 11*time.Second {
			t.Errorf("a pause that is broken off: got %v after %v", err, time.Since(start))
		}
	})
}
