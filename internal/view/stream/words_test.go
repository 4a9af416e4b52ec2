package stream

import (
	"math"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

func TestFigures(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{dollars(0), "$0.00"},
		{dollars(money.Nano), "$0.0000"},
		{dollars(41 * money.Dollar / 1000), "$0.0410"},
		{dollars(123*money.Cent + money.Cent/2), "$1.24"},
		{dollars(money.Most), "$9223372036.85"},
		{dollars(-5), "$0.00"},
		{span(-time.Second), "0s"},
		{span(59*time.Second + 999*time.Millisecond), "59s"},
		{span(4 * time.Minute), "4m00s"},
		{span(62 * time.Minute), "1h02m"},
		{span(48 * time.Hour), "2d00h"},
		{roundSpan(8 * time.Hour), "8h"},
		{roundSpan(90 * time.Minute), "1h30m"},
		{roundSpan(0), "0s"},
		{roundSpan(20 * time.Second), "20s"},
		{span(of(math.MaxInt64, time.Second)), "36500d00h"},
		{size(0), "0 B"},
		{size(999), "999 B"},
		{size(9949), "9.9 kB"},
		{size(9951), "10 kB"},
		{size(999_999), "1 MB"},
		{size(math.MaxInt64), "9.2 EB"},
		{count(1, "file"), "1 file"},
		{count(2, "file"), "2 files"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}
