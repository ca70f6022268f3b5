package download

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// TestFits checks which records are of what a task asks for.
func TestFits(t *testing.T) {
	const md5, other, crc = "md5:d41d8cd98f00b204e9800998ecf8427e", "md5:00000000000000000000000000000000", "crc32:00000000"
	modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sum := func(text string) digest.Sum { return must.Get(digest.Parse(text))(t) }
	task := func(urls ...string) *Task {
		i := &Task{Path: "f"}
		for _, text := range urls {
			i.URLs = append(i.URLs, must.Get(urlparse.Parse(text))(t))
		}
		return i
	}
	with := func(i *Task, s digest.Sum) *Task { task := *i; task.Sum = s; return &task }
	sized := func(n int64) *Task { i := task("ftp://h/f"); i.Size = &n; return i }
	plain := task("ftp://h/f")
	record := recordOf(plain, plain.URLs[0], Result{Size: 5, ModTime: modified})
	summed := recordOf(plain, plain.URLs[0], Result{Size: 5, ModTime: modified, Sum: sum(md5)})
	secret := task("ftp://me:secret@h/f")
	login := recordOf(secret, secret.URLs[0], Result{Size: 5, ModTime: modified})
	told := record
	told.Told = modified.Add(time.Hour)
	for _, tt := range []struct {
		name   string
		task   *Task
		newest time.Time
		want   bool
	}{
		{"the same", plain, time.Time{}, true},
		{"the size of the list", sized(5), time.Time{}, true},
		{"another size in the list", sized(6), time.Time{}, false},
		{"another URL", task("ftp://h/g"), time.Time{}, false},
		{"one of the URLs", task("ftp://i/f", "ftp://h/f"), time.Time{}, true},
		{"a login", task("ftp://u:p@h/f"), time.Time{}, false},
		{"no digest in the ledger", with(plain, sum(md5)), time.Time{}, false},
		{"as new as in the listing", plain, modified, true},
		{"newer in the listing", plain, modified.Add(time.Second), false},
		{"older in the listing", plain, modified.Add(-time.Hour), true},
	} {
		if got := fits(record, tt.task, tt.newest); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
	for of, want := range map[string]bool{md5: true, other: false, crc: false} {
		if got := fits(summed, with(task("ftp://x/y"), sum(of)), time.Time{}); got != want {
			t.Errorf("%v: got %v", of, got)
		}
	}
	for pass, want := range map[string]bool{"me:secret": true, "me:changed": true, "me": true, "you:secret": false} {
		if got := fits(login, task("ftp://"+pass+"@h/f"), time.Time{}); got != want {
			t.Errorf("login %s: got %v", pass, got)
		}
	}
	if !fits(told, plain, modified.Add(time.Minute)) || fits(told, plain, modified.Add(2*time.Hour)) {
		t.Error("the server's time does not count where the disk made another of it")
	}
}

// TestUnrecorded checks that a ledger that cannot be written is told once, with the next file that ends, and not in the
// goroutine that writes, which may be that of another run: Events of this run may be waiting for it.
func TestUnrecorded(t *testing.T) {
	var got []string
	b := &engine{RunOptions: RunOptions{Events: func(e Event) { got = append(got, fmt.Sprint(e.Kind == Ended, e.Err)) }}}
	for range 2 {
		must.Do(t, b.unrecorded(syscall.ENOSPC))
	}
	if len(got) > 0 {
		t.Errorf("told at once: %q", got)
	}
	for range 2 {
		b.ended(Event{Task: &Task{}})
	}
	want := []string{"false no space left on device: going on without it", "true <nil>", "true <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	b.Once = true
	if err := b.unrecorded(syscall.ENOSPC); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("with Once: %v", err)
	}
}
