package notify

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// channel is a Channel made of a function.
type channel struct {
	name string
	send func(context.Context, Message) error
}

func (c channel) Name() string                              { return c.name }
func (c channel) Send(ctx context.Context, m Message) error { return c.send(ctx, m) }

func TestSendReportsEveryChannelInOrder(t *testing.T) {
	broken := errors.New("broken")
	results := Send(t.Context(), []Channel{
		channel{"first", func(context.Context, Message) error { return nil }},
		channel{"second", func(context.Context, Message) error { return broken }},
		channel{"third", func(context.Context, Message) error { panic("oh") }},
		nil,
		channel{"last", func(context.Context, Message) error { return nil }},
	}, message())

	wants := []struct{ channel, err string }{
		{"first", ""}, {"second", "broken"}, {"third", "sending panicked: oh"}, {"", "sending panicked"}, {"last", ""},
	}
	if len(results) != len(wants) {
		t.Fatalf("got %d results, want %d", len(results), len(wants))
	}
	for i, want := range wants {
		got := results[i]
		if got.Channel != want.channel || (got.Err == nil) != (want.err == "") ||
			got.Err != nil && !strings.Contains(got.Err.Error(), want.err) {
			t.Errorf("result %d: got %q, %v; want %q, %q", i, got.Channel, got.Err, want.channel, want.err)
		}
	}
	if !errors.Is(results[1].Err, broken) {
		t.Errorf("the channel's own error is lost: %v", results[1].Err)
	}
}

func TestSendWithoutChannels(t *testing.T) {
	if results := Send(t.Context(), nil, message()); len(results) != 0 {
		t.Errorf("got %v", results)
	}
}

// Each of two channels waits for the other: one after the other would never end.
func TestSendIsParallel(t *testing.T) {
	meet := make(chan struct{})
	either := func(ctx context.Context, _ Message) error {
		select {
		case meet <- struct{}{}:
		case <-meet:
		case <-ctx.Done():
			return ctx.Err()
		}
		return nil
	}
	for _, r := range Send(t.Context(), []Channel{channel{"a", either}, channel{"b", either}}, message()) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Channel, r.Err)
		}
	}
}

func TestSendGivesEachChannelItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, release := time.Now(), make(chan struct{})
		defer close(release)
		results := Send(t.Context(), []Channel{
			channel{"listens", func(ctx context.Context, _ Message) error { <-ctx.Done(); return errors.New("my own words") }},
			channel{"deaf", func(context.Context, Message) error { <-release; return nil }},
			channel{"quick", func(context.Context, Message) error { return nil }},
		}, message())

		if err := results[0].Err; err == nil || err.Error() != "my own words" {
			t.Errorf("a channel that stops in time says why itself; got %v", err)
		}
		if err := results[1].Err; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a channel that does not stop is left behind; got %v", err)
		}
		if err := results[2].Err; err != nil {
			t.Errorf("a slow channel must not harm another; got %v", err)
		}
		if took := time.Since(start); took != 35*time.Second {
			t.Errorf("took %v, want 30 s and 5 s more for the deaf one", took)
		}
	})
}

func TestSendStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	results := Send(ctx, []Channel{
		channel{"c", func(ctx context.Context, _ Message) error { cancel(); <-ctx.Done(); return ctx.Err() }},
	}, message())
	if err := results[0].Err; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSendCleansForChannelsOfOthers(t *testing.T) {
	var got Message
	m := message()
	m.Reason = "a\x1b[2Jb\u202ec"
	Send(t.Context(), []Channel{channel{"c", func(_ context.Context, m Message) error { got = m; return nil }}}, m)
	if got.Reason != "abc" {
		t.Errorf("got %q", got.Reason)
	}
}
