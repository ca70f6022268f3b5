package cli

import (
	"testing"
	"time"

	"example.com/ftpfetch/download"
)

// TestAutoHint checks when -s auto is mentioned: once, for a large file that will take minutes.
func TestAutoHint(t *testing.T) {
	const mib = 1 << 20
	began := time.Now()
	for what, tt := range map[string]struct {
		after       time.Duration
		done, total int64
		off, want   bool
	}{
		"minutes are left":     {10 * time.Second, 10 * mib, 200 * mib, false, true},
		"a minute is left":     {10 * time.Second, 100 * mib, 200 * mib, false, false},
		"it is not known yet":  {8 * time.Second, 10 * mib, 200 * mib, false, false},
		"the file is small":    {20 * time.Second, mib, 60 * mib, false, false},
		"nothing comes":        {20 * time.Second, 0, 200 * mib, false, false},
		"the size is unknown":  {20 * time.Second, mib, -1, false, false},
		"nobody would read it": {10 * time.Second, 10 * mib, 200 * mib, true, false},
	} {
		h := autoHint{off: tt.off}
		if h.due(began, 0, tt.total) {
			t.Errorf("%s: due at once", what)
		}
		if got := h.due(began.Add(tt.after), tt.done, tt.total); got != tt.want {
			t.Errorf("%s: due is %v", what, got)
		}
		if h.due(began.Add(tt.after+time.Second), tt.done, tt.total) {
			t.Errorf("%s: due again", what)
		}
	}
}

// TestAutoHintIsTold checks what a transfer that will take minutes tells, and that it tells it once.
func TestAutoHintIsTold(t *testing.T) {
	var told []string
	h := autoHint{tell: func(s string) { told = append(told, s) }, began: time.Now().Add(-20 * time.Second)}
	for range 3 {
		h.see(download.Event{Kind: download.Progress, Done: 10 << 20, Total: 200 << 20})
	}
	want := "this takes minutes: -s auto may be faster, with several connections"
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %q, want %q once", told, want)
	}
}
