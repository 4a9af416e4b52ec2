//go:build linux

package idmap

import (
	"slices"
	"strings"
	"testing"
)

func TestMountPoints(t *testing.T) {
	const info = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
31 22 0:5 /a\040b /mnt/two\040words\134x rw master:3 - tmpfs tmpfs rw
32 22 0:6 / /mnt/` + "\u00a0" + `odd\01 rw - tmpfs tmpfs rw
`
	got, err := mountPoints(strings.NewReader(info))
	if want := []string{"/", `/mnt/two words\x`, "/mnt/\u00a0odd\\01"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := mountPoints(strings.NewReader("22 1 254:0 /\n")); err == nil {
		t.Error("a line that is cut off was taken")
	}
}

// FuzzUnescape: whatever a folder is called, its name comes back.
func FuzzUnescape(f *testing.F) {
	for _, seed := range []string{"/a b", "/a\tb\n", `/a\040`, `\`, "/#", "/ü", `/\\134`} {
		f.Add(seed)
	}
	escape := strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`, "#", `\043`)
	f.Fuzz(func(t *testing.T, path string) {
		if got := unescape(escape.Replace(path)); got != path {
			t.Errorf("%q came back as %q", path, got)
		}
		_, _ = mountPoints(strings.NewReader(path))
	})
}
