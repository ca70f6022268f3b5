package download

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/testserver"
)

// oddTimes are what disks make of a time.
var oddTimes = map[string]func(time.Time) time.Time{
	"two seconds":      func(t time.Time) time.Time { return t.Truncate(2 * time.Second) },
	"whole seconds":    func(t time.Time) time.Time { return t.Truncate(time.Second) },
	"until 2038":       func(t time.Time) time.Time { return time.Unix(max(-1<<31, min(t.Unix(), 1<<31-1)), 0) },
	"from 1980":        func(t time.Time) time.Time { return time.Unix(max(315532800, min(t.Unix(), 4354819198)), 0) },
	"32 bits, wrapped": func(t time.Time) time.Time { return time.Unix(int64(uint32(t.Unix())), 0) },
	"none":             func(time.Time) time.Time { return time.Now() },
}

// TestOddTimes saves files with times that a disk rounds, clamps, wraps or ignores. The same again must succeed and fetch
// nothing, with each flag, unless the disk ignores a time ahead of now. A file that is newer on the server still is.
func TestOddTimes(t *testing.T) {
	cases := 0
	t.Cleanup(func() { disk.FakeTime = nil })
	for name, makes := range oddTimes {
		for _, at := range []time.Time{kitTime, kitTime.Add(500 * time.Millisecond), time.Date(1601, 1, 1, 0, 0, 1, 0, time.UTC),
			time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(2110, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)} {
			if name == "none" && at.After(time.Now()) {
				continue
			}
			cases++
			k := newKit(t, map[string]string{"/f": "contents"})
			disk.FakeTime = makes
			k.change("/f", "contents", at)
			if _, err := k.get("/f", Options{}); err != nil {
				t.Errorf("%s, %v: %v", name, at, err)
			}
			for _, existing := range []Existing{"", Newer, Continue, NewerOrContinue} {
				if r, err := k.get("/f", Options{Existing: existing}); err != nil || r.Left == "" {
					t.Errorf("%s, %v, %q: got %+v, %v", name, at, existing, r, err)
				}
			}
			k.want(map[string]string{"f": "contents"})
			disk.FakeTime = nil
			k.change("/f", "CONTENTS", time.Now().Add(time.Hour))
			if r, err := k.get("/f", Options{Existing: Newer}); at.Before(time.Now()) && name != "32 bits, wrapped" && (err != nil || r.Left != "") {
				t.Errorf("%s, %v, changed: got %+v, %v", name, at, r, err)
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestShortNames saves, resumes and rejects files on disks that take names of 140 to 255 octets, each file with the
// longest name. No name beside it may be longer.
func TestShortNames(t *testing.T) {
	text := noise(1<<20, 1)
	for most := 140; most <= 255; most++ {
		k := newKit(t, map[string]string{"/f": text})
		onCall(t, func(call, path string) error {
			if len(filepath.Base(path)) > most && call != "stat" && call != "fstat" {
				return syscall.ENAMETOOLONG
			}
			return nil
		})
		name := strings.Repeat("n", most)
		path := k.path(name)
		k.faulty(cut(1, 1<<19))
		if r, err := File(t.Context(), k.src, k.url("/f"), path, &Options{Retries: -1}); err == nil || r.Kept < 1<<18 {
			t.Errorf("%d octets, cut: got %+v, %v", most, r, err)
		}
		k.faulty(nil)
		if r, err := File(t.Context(), k.src, k.url("/f"), path, nil); err != nil || r.Resumed < 1<<18 {
			t.Errorf("%d octets, resumed: got %+v, %v", most, r, err)
		}
		k.want(map[string]string{name: text})
		other := strings.Repeat("o", most)
		_, err := File(t.Context(), k.src, k.url("/f"), k.path(other), &Options{Sum: sum(t, "md5:00000000000000000000000000000000"), Retries: -1})
		if bad, _ := filepath.Glob(k.path("o*.ftpfetch.bad")); !errors.Is(err, ErrDigest) || len(bad) != 1 {
			t.Errorf("%d octets, a wrong digest: %v, %q", most, err, bad)
		}
	}
}

// TestInOrder saves a file over several connections to a disk that takes bytes only in order: it takes one.
func TestInOrder(t *testing.T) {
	text := noise(8<<20, 1)
	for _, refuses := range []bool{false, true} {
		k := newKit(t, map[string]string{"/f": text})
		onCall(t, func(call, _ string) error {
			if refuses && call == "pwrite" {
				return syscall.ESPIPE
			}
			return nil
		})
		_, err := k.get("/f", Options{Segments: 4})
		if err != nil || (k.DataConnections() == 1) != refuses || k.told(Noted, "the disk takes bytes only in order") != refuses {
			t.Errorf("%v: %d data connections: %v", refuses, k.DataConnections(), err)
		}
		k.want(map[string]string{"f": text})
	}
}

// TestClosedBeforeGreeting connects to a server that closes each connection before its greeting.
func TestClosedBeforeGreeting(t *testing.T) {
	k := newKit(t, map[string]string{"/f": "x"})
	k.faulty(func(c *testserver.Conn) testserver.Action { return testserver.EndControl(testserver.Closed) })
	_, err := k.get("/f", Options{})
	if err == nil || !strings.Contains(err.Error(), "the server closed it before the greeting") {
		t.Errorf("got %v", err)
	}
	if n := k.Connections(); n != 3 || len(k.waits) != 2 {
		t.Errorf("%d connections, %d waits", n, len(k.waits))
	}
}
