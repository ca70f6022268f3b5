package cli

import (
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/urlparse"
)

func TestDuration(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration // 0: refused
	}{
		{"3s", 3 * time.Second},
		{"2m", 2 * time.Minute},
		{"1h30m", 90 * time.Minute},
		{"90", 90 * time.Second},
		{"0.25", 250 * time.Millisecond},
		{"1e2", 100 * time.Second},
		{"", 0}, {"0", 0}, {"0s", 0}, {"-1", 0}, {"-3s", 0}, {"soon", 0}, {"3 s", 0},
		{"NaN", 0}, {"inf", 0}, {"1e300", 0}, {"1e-12", 0},
	}
	for _, tt := range tests {
		d, err := readTime(tt.in)
		if (err == nil) != (tt.want != 0) || d != tt.want {
			t.Errorf("%q: got %v, %v, want %v", tt.in, d, err, tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"type", "type", 0}, {"typ", "type", 1}, {"tpye", "type", 1}, {"ab", "ba", 1}, {"vrebsoe", "verbose", 2}, {"", "abc", 3}, {"kitten", "sitting", 5}, {"retort", "report", 2},
	}
	for _, tt := range tests {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%s, %s) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestLogin(t *testing.T) {
	tests := []struct {
		args           []string
		user, password urlparse.Text
	}{
		{[]string{"ftp://h/"}, urlparse.Text{}, urlparse.Text{}},
		{[]string{"-u", "me", "ftp://h/"}, urlparse.Some("me"), urlparse.Text{}},
		{[]string{"-u", "me:pw", "ftp://h/"}, urlparse.Some("me"), urlparse.Some("pw")},
		{[]string{"-u", "me:p:w@/%41", "ftp://h/"}, urlparse.Some("me"), urlparse.Some("p:w@/%41")},
		{[]string{"-u", "me:", "ftp://h/"}, urlparse.Some("me"), urlparse.Some("")},
		{[]string{"-u", "", "ftp://h/"}, urlparse.Some(""), urlparse.Text{}},
		{[]string{"ftp://h/", "-u:x"}, urlparse.Some(""), urlparse.Some("x")},
	}
	for _, tt := range tests {
		o, err := parseArgs(tt.args)
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
			continue
		}
		user, password := o.login()
		if user != tt.user || password != tt.password {
			t.Errorf("%q: got %v %v, want %v %v", tt.args, user, password, tt.user, tt.password)
		}
	}
}

// TestPerHost checks that -j alone is a number for one server too.
func TestPerHost(t *testing.T) {
	for args, want := range map[string][2]int{ // in total, to one server
		"": {4, 2}, "-j 6": {6, 6}, "-j 1": {1, 1}, "-j 4": {4, 4}, "-j auto": {0, 0},
		"--per-host 3": {4, 3}, "-j 6 --per-host 3": {6, 3}, "-j 2 --per-host 3": {2, 3}, "-j auto --per-host 3": {0, 3},
		"--shard 1/4 --per-host-shared": {4, 1}, "-j 8 --shard 1/4 --per-host-shared": {8, 2},
		"-j 8 --per-host 16 --shard 1/4 --per-host-shared": {8, 4},
	} {
		o, err := parseArgs(append(strings.Fields(args), "-i", "list"))
		if got := [2]int{o.jobs, o.perHost}; err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", args, got, err, want)
		}
	}
}

// TestUsageKeepsSecrets checks that an error about -u does not show its value.
func TestUsageKeepsSecrets(t *testing.T) {
	_, err := parseArgs([]string{"-u", "me:hid\nden", "ftp://h/"})
	if err == nil || err.Error() != "-u: the value holds a line end or NUL" {
		t.Errorf("got %v", err)
	}
}
