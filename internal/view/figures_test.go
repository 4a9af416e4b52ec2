package view

import (
	"math"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

func TestFigures(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct{ got, want string }{
		{Dollars(0), "$0.00"},
		{Dollars(money.Nano), "$0.01"},
		{Dollars(123 * money.Cent), "$1.23"},
		{Dollars(123*money.Cent + 1), "$1.24"},
		{Dollars(money.Most), "$9223372036.86"},
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(1234), "1.2k"},
		{Count(99_999), "99.9k"},
		{Count(123_456), "123k"},
		{Count(1_230_000), "1.2M"},
		{Count(math.MaxInt64), "9223372036G"},
		{Duration(-1), "0s"},
		{Duration(350 * time.Millisecond), "350ms"},
		{Duration(59 * time.Second), "59s"},
		{Duration(252 * time.Second), "4m12s"},
		{Duration(62 * time.Minute), "1h02m"},
		{Duration(50 * time.Hour), "2d02h"},
		{Duration(seconds(math.MaxInt64)), "106751d23h"},
		{Duration(seconds(math.MinInt64)), "0s"},
		{Duration(milliseconds(math.MaxInt64)), "106751d23h"},
		{Age(now.Add(-90*time.Second), now), "1m ago"},
		{Age(now.Add(-49*time.Hour), now), "2d ago"},
		{Age(now, now), "just now"},
		{Age(now.Add(time.Hour), now), "just now"},
		{plural(1, "commit"), "1 commit"},
		{plural(2, "commit"), "2 commits"},
		{flagTime(16 * time.Hour), "16h"},
		{flagTime(90 * time.Minute), "90m"},
		{flagTime(61 * time.Second), "1m1s"},
		{Quoted("20261115-063200-k3f9q2"), "20261115-063200-k3f9q2"},
		{Quoted("it's a\x1b file"), `'it'\''s a file'`},
		{Quoted(""), "''"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
