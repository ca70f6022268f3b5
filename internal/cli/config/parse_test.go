package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestValues checks what values of flags mean; "" means that they are refused.
func TestValues(t *testing.T) {
	of := func(v any, err error) string {
		if err != nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	times := func(s string) string { return of(readTime(s)) }
	sizes := func(s string) string { return of(readSize(s)) }
	logins := func(s string) string { return of(readLogin(s)) }
	for _, tt := range []struct {
		read func(string) string
		want map[string]string
	}{
		{times, map[string]string{"3s": "3s", "2m": "2m0s", "1h30m": "1h30m0s", "90": "1m30s", "0.25": "250ms", "1e2": "1m40s"}},
		{sizes, map[string]string{"1": "1", "4096": "4096", "500K": "512000", "500k": "512000", "1.5M": "1572864", "2g": "2147483648", ".5K": "512", "8388608G": "9007199254740992"}},
		{logins, map[string]string{"me": "me", "me:pw": "me:pw", "me:p:w@/%41": "me:p%3Aw%40%2F%2541", "me:": "me:", "": "", ":x": ":x", "a\nb": "", "a\x00": ""}},
	} {
		for in, want := range tt.want {
			if got := tt.read(in); got != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		}
	}
	for _, in := range []string{"", "0", "0s", "-1", "-3s", "soon", "3 s", "NaN", "inf", "1e300", "1e-12"} {
		if got := times(in); got != "" {
			t.Errorf("%q is the time %s", in, got)
		}
	}
	for _, in := range []string{"", "1.9", "1.5", "1.0", "K", "0", "0K", "0.1", "-1", "+1", "1T", "1KiB", "1 K", "1KK", "1e3", "0x10", "1_000", "inf", "NaN", "9000000G", "1.2.3", "1\v"} {
		if got := sizes(in); got != "" {
			t.Errorf("%q is the size %s", in, got)
		}
	}
}

// TestLogin checks that -u takes what follows it, even if that is empty.
func TestLogin(t *testing.T) {
	for args, want := range map[string]string{"ftp://h/": "false ", "-u me ftp://h/": "true me", "-u= ftp://h/": "true ", "ftp://h/ -u:x": "true :x"} {
		c, err := Parse(strings.Fields(args))
		if got := fmt.Sprint(c.User != nil, " ", c.User); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", args, got, err, want)
		}
	}
}

// TestPerHost checks that -j alone is a number for one server too.
func TestPerHost(t *testing.T) {
	for args, want := range map[string][2]int{ // in total, to one server
		"": {4, 2}, "-j 6": {6, 6}, "-j 1": {1, 1}, "-j 4": {4, 4}, "-j auto": {0, 0},
		"--per-host 3": {4, 3}, "-j 6 --per-host 3": {6, 3}, "-j 2 --per-host 3": {2, 3}, "-j auto --per-host 3": {0, 3},
	} {
		o, err := Parse(append(strings.Fields(args), "-i", "list"))
		if got := [2]int{o.Jobs, o.PerHost}; err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", args, got, err, want)
		}
	}
}
