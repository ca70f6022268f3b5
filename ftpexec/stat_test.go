package ftpexec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestStatRefusedDirectory asks a server without MLST about a directory that CWD cannot enter. The directory is missing
// if the server refuses it for good. The error has the reply to CWD, because the server refuses SIZE for every
// directory.
func TestStatRefusedDirectory(t *testing.T) {
	for reply, missing := range map[string]bool{"550 Failed to change directory.": true, "553 No.": true, "450 Busy.": false, "550 Permission denied.": false} {
		s := testserver.New(t, nil, testserver.Honest("").With("MLST", testserver.Reply("500 What?")).
			With("SIZE", testserver.Reply("550 d: not a regular file")).With("MDTM", testserver.Reply("550 d: not a regular file")).With("CWD d", testserver.Reply(reply)))
		c := new(ftpexec.Client)
		_, err := c.Stat(t.Context(), parse(t, s.URL("/d/")))
		if errors.Is(err, ftpexec.ErrNotFound) != missing || err == nil || !strings.Contains(err.Error(), reply) {
			t.Errorf("%s: %v", reply, err)
		}
		c.CloseIdleConnections()
	}
}

// Stat sends MLST for the last segment, even if it is empty, and then no other command about it.
func TestStatDirectory(t *testing.T) {
	for path, want := range map[string]string{"/": "MLST", "/d/": "MLST d", "/c/d/": "CWD c,MLST d"} {
		s := testserver.New(t, nil, testserver.Honest("").With("MLST", testserver.Reply("250-x\r\n type=dir; d\r\n250 End")))
		e, err := (&ftpexec.Client{MaxIdle: -1}).Stat(t.Context(), parse(t, s.URL(path)))
		if err != nil || !e.Mode.IsDir() {
			t.Errorf("%s: got %+v, %v, want a directory", path, e, err)
		}
		asked := slices.DeleteFunc(s.Commands(), func(line string) bool { return slices.Contains([]string{"USER", "PASS", "QUIT"}, line[:4]) })
		if got := strings.Join(asked, ","); got != want {
			t.Errorf("%s: sent %s, want %s", path, got, want)
		}
	}
}

// Without MLST, what CWD enters is a directory, whatever the server replies to SIZE and MDTM.
func TestStatDirectoryByCWD(t *testing.T) {
	for _, cwd := range []string{"250 Done.", "550 No such file."} {
		s := testserver.New(t, nil, testserver.Honest("").With("MLST", testserver.Reply("500 What?")).
			With("SIZE", testserver.Reply("213 4096")).With("CWD d", testserver.Reply(cwd)))
		e, err := (&ftpexec.Client{MaxIdle: -1}).Stat(t.Context(), parse(t, s.URL("/d/")))
		if err != nil || e.Mode.IsDir() != (cwd[0] == '2') || e.Mode.IsRegular() == e.Mode.IsDir() {
			t.Errorf("CWD is answered with %q: got %+v, %v", cwd, e, err)
		}
	}
}

// The hint about an empty segment is not replaced by the one about an inner directory.
func TestHintOfAnEmptySegment(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("").With("CWD", testserver.Reply("550 Denied.")))
	_, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("//a/b/f")))
	if e, ok := errors.AsType[*ftpexec.Error](err); !ok || !strings.HasPrefix(e.Hint, "An empty segment") {
		t.Errorf("got %v, want the hint about an empty segment", err)
	}
}
