package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%v, got\n%s\nwant\n%s", err, got, want)
	}
}

func TestPlan(t *testing.T) {
	var b strings.Builder
	err := plan(&b, "ftp://h/a/b%20c;type=a", "ftp://user:S3CRET@h:2121/%2Fetc/motd", "ftps://h/pub/", "ftp://h/pub;type=d", "ftp://h//x")
	if err != nil || strings.Contains(b.String(), "S3CRET") {
		t.Error(err)
	}
	golden(t, "plan.txt", b.String())
	for _, bad := range []string{"http://h/x", "ftp://h/a%0Db", "h/x", ""} {
		if err := plan(io.Discard, bad); err == nil {
			t.Errorf("%q: no error", bad)
		} else if _, ok := errors.AsType[*urlparse.Error](err); !ok {
			t.Errorf("%q: %T %v", bad, err, err)
		}
	}
}

// TestDialogue compares the dialogue with a server with a golden file. The dialogue shows no port, which would change.
func TestDialogue(t *testing.T) {
	s := testserver.New(t, &testserver.Options{ModTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Tree: map[string]string{"/a/b c": "contents\n"}})
	var c ftpexec.Client
	r, err := c.Get(t.Context(), s.URL("/a/b%20c"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil || string(got) != "contents\n" || r.Body.Close() != nil {
		t.Errorf("%q, %v", got, err)
	}
	c.CloseIdleConnections()
	golden(t, "dialogue.txt", s.Transcript())

	// The client sends the commands of the plan, in the same order, among others.
	u, err := urlparse.Parse(s.URL("/a/b%20c"))
	if err != nil {
		t.Fatal(err)
	}
	commands, err := ftpexec.Plan(u)
	if err != nil {
		t.Fatal(err)
	}
	rest := s.Commands()
	for _, c := range commands[1:] { // skip the connection
		for len(rest) > 0 && strings.Fields(rest[0])[0] != c.Verb {
			rest = rest[1:]
		}
		if len(rest) == 0 || c.Verb != "PASS" && rest[0] != c.String() {
			t.Fatalf("%s was not sent: %q", c, s.Commands())
		}
	}
}
