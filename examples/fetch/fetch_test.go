package fetch

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestMain checks for goroutine leaks. The servers leave no goroutine running, so a leak is in the code under test.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMotd uses an honest server, which closes itself when the test ends.
func TestMotd(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{
		"/pub/motd": "hello\nand more\n", "/pub/empty": "", "/pub/one line": "hello"}})
	for path, want := range map[string]string{"/pub/motd": "hello", "/pub/empty": "", "/pub/one%20line": "hello"} {
		c := ftpexec.Client{MaxIdle: -1}
		if got, err := Motd(t.Context(), &c, s.URL(path)); got != want || err != nil {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
}

// TestFirst is a first test, in ten lines.
func TestFirst(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/motd": "hello"}})
	got, err := Motd(t.Context(), &ftpexec.Client{MaxIdle: -1}, s.URL("/pub/motd"))
	if got != "hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if dirs := s.Args("CWD"); !slices.Equal(dirs, []string{"pub"}) {
		t.Errorf("CWD %q", dirs)
	}
}

// TestCommands checks each command that the client sends after the login.
func TestCommands(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/motd": "hello"}})
	c := ftpexec.Client{MaxIdle: -1}
	if _, err := Motd(t.Context(), &c, s.URL("me:secret@/motd")); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitCommand(t.Context(), "QUIT"); err != nil { // the client does not wait for the reply to QUIT
		t.Fatal(err)
	}
	want := []string{"TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd", "QUIT"}
	sent := s.Commands()
	if got := sent[max(0, slices.Index(sent, "TYPE I")):]; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// TestFailures uses servers that misbehave.
func TestFailures(t *testing.T) {
	tests := []struct {
		name string
		step testserver.Step
		want error
	}{
		{"missing", testserver.On("RETR", testserver.Reply("550 No such file.")).With("SIZE", testserver.Reply("550 No such file.")), fs.ErrNotExist},
		{"full", testserver.On("", testserver.Reply("421 Too many users."), testserver.EndControl(testserver.Closed)), ftpexec.ErrTooMany},
		{"cut", testserver.On("RETR", testserver.Reply("150 Here."), testserver.Data("hel", testserver.Closed), testserver.Reply("426 Broken.")), ftpexec.ErrTruncated},
	}
	for _, tt := range tests {
		s := testserver.New(t, nil, testserver.Honest("hello"), tt.step)
		c := ftpexec.Client{MaxIdle: -1}
		if got, err := Motd(t.Context(), &c, s.URL("/motd")); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %q, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

// TestTranscript checks the whole dialogue, as one text that is the same in each run.
func TestTranscript(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/motd": "hello"}, ModTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	c := ftpexec.Client{MaxIdle: -1}
	if _, err := Motd(t.Context(), &c, s.URL("/motd")); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/motd.txt")
	if got := s.Transcript(); got != string(want) || err != nil {
		t.Errorf("got\n%s\n%v, want\n%s", got, err, want)
	}
}

// TestTimeout checks that the client waits no longer than Timeout for a silent server.
func TestTimeout(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("hello").With("RETR", testserver.EndControl(testserver.Stalled)))
	c := ftpexec.Client{MaxIdle: -1, Timeout: 100 * time.Millisecond}
	if _, err := Motd(t.Context(), &c, s.URL("/motd")); !errors.Is(err, ftpexec.ErrTimeout) {
		t.Errorf("got %v", err)
	}
}
