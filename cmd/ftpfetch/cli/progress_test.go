package cli

import (
	"bytes"
	"testing"
	"time"
)

// TestLineMeter moves a clock by hand.
func TestLineMeter(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	p := &printer{err: &out, now: func() time.Time { return clock }}
	m := p.newMeter("a\x1bfile", false)
	for _, step := range []struct {
		after       time.Duration
		done, total int64
	}{
		{0, 0, 1000}, {9 * time.Second, 90, 1000}, {time.Second, 100, 1000}, {time.Second, 110, 1000},
		{9 * time.Second, 200, 1000}, {10 * time.Second, 300, -1},
	} {
		clock = clock.Add(step.after)
		m.update(step.done, step.total)
	}
	clock = clock.Add(1250 * time.Millisecond)
	m.end(1000, true)
	want := `a\x1bfile: 100 of 1000 octets (10%)
a\x1bfile: 200 of 1000 octets (20%)
a\x1bfile: 300 octets so far
a\x1bfile: 1000 octets in 31.2 s
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	out.Reset()
	m.end(500, false)
	if out.Len() > 0 {
		t.Errorf("a failed transfer is reported as %q", out.String())
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"short", "short"}, {"0123456789", "0123456789"}, {"01234567890", "0123456..."}, {"ééééééééééé", "ééééééé..."},
	} {
		if got := shorten(tt.in, 10); got != tt.want {
			t.Errorf("shorten(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
