package probe

import (
	"errors"
	"strings"
	"testing"
)

func TestTryEach(t *testing.T) {
	open := way{"open", func() error { return nil }}
	refused := way{"refused", func() error { return errors.New("no") }}
	untried := way{"untried", func() error { return notTried(errors.New("no folder")) }}
	tests := []struct {
		name string
		list []way
		want Verdict
	}{
		{"no way at all", nil, NotApplicable},
		{"all refused", []way{refused, refused}, Blocked},
		{"one open", []way{refused, open}, Breach},
		{"open beats untried", []way{untried, open}, Breach},
		{"one untried proves nothing", []way{refused, untried}, Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tryEach(tt.list); got.Verdict != tt.want {
				t.Errorf("%+v, want %q", got, tt.want)
			}
		})
	}
}

func TestEachPath(t *testing.T) {
	list := eachPath("read", func(string) error { return nil }, "", "/a", strings.Repeat("../", 9)+"/b")
	var labels []string
	for _, w := range list {
		labels = append(labels, w.what)
	}
	if got, want := strings.Join(labels, "|"), "read /a|read .../b"; got != want {
		t.Errorf("labels %q, want %q", got, want)
	}
}
