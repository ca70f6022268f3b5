package config

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
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

func TestLogin(t *testing.T) {
	tests := []struct {
		args []string
		want *url.Userinfo
	}{
		{[]string{"ftp://h/"}, nil},
		{[]string{"-u", "me", "ftp://h/"}, url.User("me")},
		{[]string{"-u", "me:pw", "ftp://h/"}, url.UserPassword("me", "pw")},
		{[]string{"-u", "me:p:w@/%41", "ftp://h/"}, url.UserPassword("me", "p:w@/%41")},
		{[]string{"-u", "me:", "ftp://h/"}, url.UserPassword("me", "")},
		{[]string{"-u", "", "ftp://h/"}, url.User("")},
		{[]string{"ftp://h/", "-u:x"}, url.UserPassword("", "x")},
	}
	for _, tt := range tests {
		o, err := Parse(tt.args)
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
			continue
		}
		if !reflect.DeepEqual(o.User, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.args, o.User, tt.want)
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

func TestSize(t *testing.T) {
	tests := []struct {
		in   string
		want int64 // 0: refused
	}{
		{"1", 1},
		{"4096", 4096},
		{"500K", 500 << 10},
		{"500k", 500 << 10},
		{"1.5M", 3 << 19},
		{"2g", 2 << 30},
		{".5K", 512},
		{"1.9", 0}, {"1.5", 0}, {"1.0", 0},
		{"8388608G", 1 << 53},
		{"", 0}, {"K", 0}, {"0", 0}, {"0K", 0}, {"0.1", 0}, {"-1", 0}, {"+1", 0},
		{"1T", 0}, {"1KiB", 0}, {"1 K", 0}, {"1KK", 0}, {"1e3", 0}, {"0x10", 0}, {"1_000", 0},
		{"inf", 0}, {"NaN", 0}, {"9000000G", 0}, {"1.2.3", 0}, {"1\v", 0},
	}
	for _, tt := range tests {
		n, err := readSize(tt.in)
		if (err == nil) != (tt.want != 0) || n != tt.want {
			t.Errorf("%q: got %d, %v, want %d", tt.in, n, err, tt.want)
		}
	}
}
