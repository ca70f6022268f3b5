package cli_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// full is an output that fails from a certain write on, in one of the ways in which outputs fail.
type full struct {
	takes  int // number of writes that succeed
	writes int
	err    error
	short  bool // Write returns a short count and no error
}

func (f *full) Write(p []byte) (int, error) {
	switch f.writes++; {
	case f.writes <= f.takes:
		return len(p), nil
	case f.short:
		return len(p) - 1, nil
	}
	return 0, f.err
}

// printing has all ways in which the command writes to standard output. TREE, FILE, EMPTY and LIST stand for URLs and
// the list of a test. The output directory "d" has a file that the server does not have.
var printing = []string{
	"--help", "-h", "help", "--help=man", "--help=bash", "--help=zsh", "--help=fish", "--version", "version",
	"--dry-run FILE", "--dry-run FILE TREE", "--dry-run -l TREE", "--dry-run TREE;type=d", "--dry-run -r TREE", "--dry-run -i LIST",
	"--dry-run --glob TREE*", "--dry-run --manifest LIST", "--dry-run -j 2 FILE FILE2", "--dry-run -s 2 FILE",
	"-r -N --delete --dry-run -d d TREE", "-q -r -N --delete --dry-run -d d TREE", "-r -N --delete --backup --dry-run -d d TREE",
	"TREE", "-l TREE", "-lh TREE", "--json TREE", "--sort size TREE", "--sort none -l TREE", "TREE;type=d", "-l TREE;type=d", "TREE TREE", "-o - TREE", "-l -o - TREE",
	"-I FILE", "-I FILE FILE2", "-I --json FILE", "-I -h FILE", "-I -i LIST", "-I -j 2 FILE FILE2",
	"-I -r TREE", "-I -r --json TREE", "-I -r --sort size TREE", "-I --glob TREE*", "-I -r --sort none TREE",
	"-o - FILE", "-o - FILE FILE2", "-q -o - FILE", "-o - FILE;type=a", "-o - -s 2 FILE", "-o - --limit-rate 1G FILE", "-o - --progress json FILE",
	"-o - --progress bar FILE", "-o - --checksum md5:98bf7d8c15784f0a3d63204441e1e2aa FILE", "-o - -v FILE",
	"-r -d e --report - TREE", "-i LIST -d e --report -", "-j 2 -d e --report - FILE FILE2", "--manifest LIST -d e --report - --progress json", "--glob -d e --report - TREE*",
}

// TestLostOutput makes each write of each way to print fail, in each way. The exit code is never 0, and the message
// gives the reason once, unless the reader has closed the output.
func TestLostOutput(t *testing.T) {
	fs := afero.NewMemMapFs()
	s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(fs), Tree: map[string]string{"/t/gone": "gone", "/t/a": "contents", "/t/b": "contents\n", "/t/sub/c": "c"}})
	list := written(t, s.URL("/t/a")+"\n"+s.URL("/t/b")+"\n")
	words := strings.NewReplacer("TREE", s.URL("/t/"), "FILE2", s.URL("/t/b"), "FILE", s.URL("/t/a"), "LIST", list)
	cases := 0
	t.Chdir(t.TempDir())
	if code, _, stderr := run(t, "-q", "-r", "-d", "d", s.URL("/t/")); code != 0 {
		t.Fatal(stderr)
	}
	must.Do(t, fs.Remove("/t/gone"))
	for nth, way := range printing {
		args := strings.Fields(words.Replace(way))
		try := func(out io.Writer) (code int, stderr string) {
			must.Do(t, os.RemoveAll("e"))
			var err bytes.Buffer
			code = cli.Run(t.Context(), args, cli.IO{Out: out, Err: &err})
			return code, err.String()
		}
		whole := &full{takes: 1 << 20}
		if code, stderr := try(whole); code != 0 || whole.writes == 0 {
			t.Errorf("%s: exit %d after %d writes, %s", way, code, whole.writes, stderr)
		}
		for takes := range whole.writes {
			for i, out := range []*full{{err: syscall.ENOSPC}, {short: true}, {err: syscall.EPIPE}, {err: io.ErrClosedPipe}} {
				if (nth+takes+i)%night.Or(4, 1) != 0 && way[:2] != "-r" {
					continue
				}
				cases++
				out.takes = takes
				code, stderr := try(out)
				want, told := 23, 1
				if i > 1 {
					want, told = 141, 0
				}
				if code != want || strings.Count(stderr, "cannot be written") != told {
					t.Errorf("%s, write %d, %v, short %v: exit %d, want %d, %s", way, takes+1, out.err, out.short, code, want, stderr)
				}
			}
		}
	}
	t.Logf("%d ways, %d cases", len(printing), cases)
}
