package ftpexec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestStatRefusedDirectory asks a server without MLST about a directory that it does not enter. It is missing if the server
// refuses it for good, which the error tells in the words for the directory: SIZE is refused for every directory.
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

// MLST is asked about the last segment, also if it is the only one, and then nothing else is.
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
