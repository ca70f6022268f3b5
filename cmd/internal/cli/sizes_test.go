package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// growing is a server whose file has 10 bytes more each time that something is asked about it. RETR brings 10 more than
// the last SIZE said. growth is how many bytes the file has.
func growing(growth *atomic.Int64) testserver.Step {
	return func(d *testserver.Dialogue) {
		testserver.Honest("").With("SIZE", func(c *testserver.Conn) error {
			growth.Add(10)
			return testserver.Reply(fmt.Sprint("213 ", growth.Load()))(c)
		}).With("MDTM", func(c *testserver.Conn) error {
			return testserver.Reply(fmt.Sprintf("213 20260102%06d", growth.Load()%60))(c)
		}).With("RETR", func(c *testserver.Conn) error {
			return testserver.Transfer(strings.Repeat("0123456789", int(growth.Load())/10+1))(c)
		})(d)
	}
}

// TestGrowingFile fetches a file that grows. The whole file is never whole; --range 0-now takes what it had.
func TestGrowingFile(t *testing.T) {
	t.Parallel()
	var growth atomic.Int64
	s := testserver.New(t, nil, growing(&growth))
	dir := t.TempDir()
	code, _, said := run(t, "-d", dir, s.URL("/log"))
	if code != 18 || !strings.Contains(said, "bytes announced, twice in a row (--range 0-now takes a file that grows as it is now") {
		t.Errorf("exit %d, %s", code, said)
	}
	for _, name := range []string{"log.0-now", "log", "copy"} {
		args := []string{"--range", "0-now", "-d", dir, "-o", name, s.URL("/log")}
		if name == "log.0-now" {
			args = []string{"--range", "0-now", "-d", dir, s.URL("/log")}
		}
		before := growth.Load()
		code, _, said := run(t, args...)
		got := string(must.Get(os.ReadFile(filepath.Join(dir, name)))(t))
		if n := int(before+10) / 10; code != 0 || got != strings.Repeat("0123456789", n) {
			t.Errorf("%s: exit %d, %d bytes, want %d\n%s", name, code, len(got), 10*n, said)
		}
	}
	if code, _, said := run(t, "--range", "5-now", "-d", dir, "-o", "log", s.URL("/log")); code != 2 || !strings.Contains(said, "write -o ") {
		t.Errorf("exit %d, %s", code, said)
	}
}

// TestWrongSize fetches a file of 8 bytes whose SIZE is wrong for ever.
func TestWrongSize(t *testing.T) {
	t.Parallel()
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("SIZE", testserver.Reply("213 9")))
	dir := t.TempDir()
	code, _, said := run(t, "-d", dir, s.URL("/f"))
	if code != 18 || !strings.Contains(said, "8 of 9 bytes, and the server says that this is all, twice in a row") ||
		!strings.Contains(said, "--range 0-N takes the bytes up to N, if the size is what is wrong") || strings.Contains(said, "the same command resumes") {
		t.Errorf("exit %d, %s", code, said)
	}
	if code, _, said := run(t, "--range", "0-7", "-d", dir, s.URL("/f")); code != 0 {
		t.Errorf("exit %d, %s", code, said)
	}
}

// TestSilentServer checks that a timeout names the command and the flag.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("RETR", testserver.EndControl(testserver.Stalled)))
	code, _, said := run(t, "--timeout", "2", "--retries", "0", "-d", t.TempDir(), s.URL("/f"))
	if code != 28 || !strings.Contains(said, "timed out: no reply to RETR for 2s (--timeout TIME waits longer") {
		t.Errorf("exit %d, %s", code, said)
	}
}

// TestInfoOfWhatIsNotThere asks about a file that SIZE and MDTM do not agree about. -I and -l fail, and do not call it a
// file.
func TestInfoOfWhatIsNotThere(t *testing.T) {
	for _, tt := range []struct{ size, mdtm, mlst string }{
		{"550 No such file", "500 What?", "500 What?"}, {"500 What?", "550 No such file", "500 What?"},
		{"502 No.", "550 No such file", "550 No such file"}, {"550 No such file", "450 Busy", "500 What?"},
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("SIZE", testserver.Reply(tt.size)), testserver.On("MDTM", testserver.Reply(tt.mdtm)),
			testserver.On("MLST", testserver.Reply(tt.mlst)), testserver.On("CWD f", testserver.Reply("550 No such directory")))
		if code, out, said := run(t, "-I", s.URL("/f")); code != 78 || out != "" {
			t.Errorf("%+v: -I: exit %d, %q, %s", tt, code, out, said)
		}
		if code, out, said := run(t, "-l", s.URL("/f")); code == 0 || code == 2 || out != "" || strings.Contains(said, "it is a file") {
			t.Errorf("%+v: -l: exit %d, %q, %s", tt, code, out, said)
		}
	}
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("SIZE", testserver.Reply("502 No.")), testserver.On("MDTM", testserver.Reply("502 No.")),
		testserver.On("MLST", testserver.Reply("250-x\r\n type=file;size=8;modify=20260102030405; f\r\n250 End")))
	if code, out, said := run(t, "-I", s.URL("/f")); code != 0 || !strings.HasPrefix(out, "8\t2026-01-02T03:04:05") {
		t.Errorf("by MLST: exit %d, %q, %s", code, out, said)
	}
}
