package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sums returns a list of digests, as sha256sum prints it.
func sums(files map[string]string) string {
	var b strings.Builder
	for path, contents := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256([]byte(contents)), path)
	}
	return b.String()
}

var files = map[string]string{"a": "one", "sub/b": "two", "sub/c": strings.Repeat("three", 100000)}

func start(t *testing.T, fault func(*testserver.Conn) testserver.Action) *testserver.Server {
	tree := make(map[string]string)
	for path, contents := range files {
		tree["/pub/"+path] = contents
	}
	return testserver.New(t, &testserver.Options{Tree: tree, Fault: fault})
}

func checked(t *testing.T, dir string) {
	t.Helper()
	for path, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, path)); string(got) != want {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
}

// TestAgain checks that a second call transfers nothing, and a third only a missing file.
func TestAgain(t *testing.T) {
	s, dir := start(t, nil), filepath.Join(t.TempDir(), "new")
	for i, want := range []int{3, 0, 1} {
		s.ResetCommands()
		var shown bytes.Buffer
		err := save(t.Context(), strings.NewReader(sums(files)), s.URL("/pub/"), dir, &shown)
		if err != nil || !strings.Contains(shown.String(), "3 of 3 files complete") {
			t.Errorf("%v\n%s", err, &shown)
		}
		if n := strings.Count(strings.Join(s.Commands(), "\n"), "RETR "); n != want {
			t.Errorf("call %d: %d transfers, want %d", i, n, want)
		}
		checked(t, dir)
		if i == 1 {
			os.Remove(filepath.Join(dir, "sub/b"))
		}
	}
}

// TestSome checks that a damaged file, a missing file and a bad line do not affect the others.
func TestSome(t *testing.T) {
	s, dir := start(t, nil), t.TempDir()
	list := sums(files) + sums(map[string]string{"none": "none"}) + "no digest\n"
	list = strings.Replace(list, fmt.Sprintf("%x", sha256.Sum256([]byte("one"))), strings.Repeat("0", 64), 1)
	var shown bytes.Buffer
	err := save(t.Context(), strings.NewReader(list), s.URL("/pub/"), dir, &shown)
	if err == nil || strings.Count(shown.String(), "FAILED") != 3 || !strings.Contains(shown.String(), "2 of 5 files complete") {
		t.Errorf("%v\n%s", err, &shown)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a damaged file has its name: %v", err)
	}
}

// TestHard checks that broken transfers resume, that a path of the list does not lead out of the directory, and that
// the end of the context ends the run.
func TestHard(t *testing.T) {
	s := start(t, func(c *testserver.Conn) testserver.Action {
		if c.Transfer == 1 {
			return testserver.Sequence(testserver.EndDataAfter(2, testserver.Reset), testserver.ReplaceReply(testserver.Reply("426 Connection lost")))
		}
		return nil
	})
	dir := t.TempDir()
	var shown bytes.Buffer
	if err := save(t.Context(), strings.NewReader(sums(files)), s.URL("/pub/"), dir, &shown); err != nil {
		t.Errorf("%v\n%s", err, &shown)
	}
	checked(t, dir)
	out := filepath.Join(t.TempDir(), "in")
	err := save(t.Context(), strings.NewReader(sums(map[string]string{"../a": "one"})), s.URL("/pub/"), out, &shown)
	if _, failed := os.Stat(filepath.Join(out, "../a")); err == nil || failed == nil {
		t.Errorf("saved outside: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := save(ctx, strings.NewReader(sums(files)), s.URL("/pub/"), t.TempDir(), &shown); !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
	if err := save(t.Context(), strings.NewReader(""), s.URL("/pub"), dir, &shown); err == nil || !strings.Contains(err.Error(), "end it in /") {
		t.Errorf("no directory: %v", err)
	}
}
