//go:build unix

package cli_test

import (
	"bytes"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// study is a server with the files of an ENA file report.
type study struct {
	*testing.T
	*testserver.Server
	dir    string            // holds the report, and below "out" what is fetched
	files  map[string]string // by their names, which are unique
	paths  []string          // on the server
	killer killer
}

// newStudy serves n runs of two files each, of up to most bytes.
func newStudy(t *testing.T, n, most int, fault func(*testserver.Conn) testserver.Action) *study {
	s := &study{T: t, dir: t.TempDir(), files: map[string]string{}}
	tree := map[string]string{}
	source := rand.New(rand.NewPCG(1, 2))
	for run := range n {
		for part := 1; part <= 2; part++ {
			text := make([]byte, source.IntN(most))
			for i := range text {
				text[i] = byte(source.Uint32())
			}
			name := fmt.Sprintf("ERR%06d_%d.fastq.gz", run, part)
			path := fmt.Sprintf("/vol1/fastq/ERR%03d/ERR%06d/%s", run/8, run, name)
			s.files[name], tree[path] = string(text), string(text)
			s.paths = append(s.paths, path)
		}
	}
	s.Server = testserver.New(t, &testserver.Options{Tree: tree, Fault: func(p *testserver.Conn) testserver.Action {
		if p.Verb != "" {
			s.killer.command()
		}
		if fault == nil {
			return nil
		}
		return fault(p)
	}})
	return s
}

// report writes the file report as it is downloaded: two files a row, URLs without a scheme. It returns its path.
func (s *study) report() string {
	var b strings.Builder
	b.WriteString("run_accession\tfastq_ftp\tfastq_md5\tfastq_bytes\n")
	cell := func(row int, what func(path, text string) string) string {
		var parts []string
		for _, path := range s.paths[2*row : 2*row+2] {
			parts = append(parts, what(path, s.files[filepath.Base(path)]))
		}
		return strings.Join(parts, ";")
	}
	for row := range len(s.paths) / 2 {
		fmt.Fprintf(&b, "ERR%06d\t%s\t%s\t%s\n", row,
			cell(row, func(path, _ string) string { return s.Addr() + path }),
			cell(row, func(_, text string) string { return fmt.Sprintf("%x", md5.Sum([]byte(text))) }),
			cell(row, func(_, text string) string { return fmt.Sprint(len(text)) }))
	}
	return s.write("report.tsv", b.String())
}

// list writes a list of the same files without sizes and digests.
func (s *study) list() string {
	var b strings.Builder
	for _, path := range s.paths {
		fmt.Fprintln(&b, s.URL(path))
	}
	return s.write("list.txt", b.String())
}

func (s *study) write(name, text string) string {
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
	return path
}

// run runs the command with six connections, and kills it when the server receives the command with this number; 0 means
// never. It returns the exit code, -1 if it was killed.
func (s *study) run(kill int, args ...string) (code int, stderr string) {
	s.Helper()
	s.ResetCommands()
	s.killer.arm(kill)
	args = append([]string{"-d", "out", "-j", "6", "--per-host", "6", "--report", "rows.json"}, args...)
	cmd, text := command(s.T, s.dir, args...)
	s.killer.aim(cmd.Process)
	_ = cmd.Wait() // the exit code tells
	s.killer.ended()
	return cmd.ProcessState.ExitCode(), text.String()
}

// killer kills a process when a server receives a command.
type killer struct {
	mu     sync.Mutex
	left   int // commands; 0: nothing to do
	victim chan *os.Process
	over   chan struct{} // the process has ended
}

func (k *killer) arm(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.victim, k.over = n, make(chan *os.Process, 1), make(chan struct{})
}

func (k *killer) aim(p *os.Process) { k.victim <- p }
func (k *killer) ended()            { close(k.over) }

// command counts a command. The server handles the last one after the process has ended.
func (k *killer) command() {
	k.mu.Lock()
	victim, over := k.victim, k.over
	now := k.left == 1
	k.left = max(0, k.left-1)
	k.mu.Unlock()
	if now {
		_ = (<-victim).Kill() // it may have ended
		<-over
	}
}

// there returns the names of the files that are there under their final names. It checks that each is right.
func (s *study) there() map[string]bool {
	s.Helper()
	all := map[string]bool{}
	for name, want := range s.files {
		got, err := os.ReadFile(filepath.Join(s.dir, "out", name))
		switch {
		case err == nil && string(got) == want:
			all[name] = true
		case err == nil:
			s.Errorf("%s has %d bytes that differ from those of the server", name, len(got))
		case !os.IsNotExist(err):
			s.Error(err)
		}
	}
	return all
}

// retrieved returns how often each file was asked for.
func (s *study) retrieved() map[string]int {
	times := map[string]int{}
	for _, line := range s.Commands() {
		if name, ok := strings.CutPrefix(line, "RETR "); ok {
			times[filepath.Base(name)]++
		}
	}
	return times
}

// row is what these tests need of a row of --report.
type row struct{ Path, Status, Verified string }

// rows reads --report.
func (s *study) rows() map[string]row {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "rows.json"))
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]row{}
	for line := range bytes.Lines(text) {
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			s.Errorf("%v in the row %q", err, line)
		}
		if _, twice := all[r.Path]; twice {
			s.Errorf("%s is reported twice", r.Path)
		}
		all[r.Path] = r
	}
	return all
}

// finish runs the same command again. It checks that it completes what is missing, asks the server for nothing that is
// there, and says so.
func (s *study) finish(args ...string) {
	s.Helper()
	before := s.there()
	code, stderr := s.run(0, args...)
	if code != 0 || len(s.there()) != len(s.files) {
		s.Errorf("second run: exit %d, %d of %d files are there: %s", code, len(s.there()), len(s.files), stderr)
	}
	for name, n := range s.retrieved() {
		if before[name] {
			s.Errorf("%s was there, but the second run asked for it %d times", name, n)
		}
	}
	want := fmt.Sprintf("%d of %d complete", len(s.files), len(s.files))
	if len(before) > 0 {
		want += fmt.Sprintf(" (%d of them before)", len(before))
	}
	if last := lastLine(stderr); !strings.HasPrefix(last, want) {
		s.Errorf("the last line is %q, want %q", last, want)
	}
	rows := s.rows()
	for name := range s.files {
		if want := map[bool]string{true: "before", false: "complete"}[before[name]]; rows[name].Status != want {
			s.Errorf("the report says %+v about %s, want %s", rows[name], name, want)
		}
	}
	s.nothingElse()
}

// nothingElse checks that the output directory holds the files and the ledger.
func (s *study) nothingElse() {
	s.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, "out"))
	if err != nil {
		s.Error(err)
	}
	for _, e := range entries {
		if _, ok := s.files[e.Name()]; !ok && e.Name() != ".ftpfetch-ledger" {
			s.Errorf("%s is left behind", e.Name())
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// crowd is the server of a busy archive. It accepts most connections, refuses
// others in different ways, and breaks transfers.
func crowd(most int) func(*testserver.Conn) testserver.Action {
	return func(p *testserver.Conn) testserver.Action {
		refuse := func(reply string) testserver.Action {
			return testserver.Do(testserver.Reply(reply), testserver.End(testserver.Closed))
		}
		switch {
		case p.Verb == "" && p.Open > most && p.Num%2 == 0:
			return refuse("421 There are too many connections from your internet address.")
		case p.Verb == "USER" && p.Open > most:
			return refuse("530 Sorry, the maximum number of clients (4) from your host are already connected.")
		case p.Verb == "RETR" && p.Transfer%10 == 3:
			return testserver.Do(testserver.Cut(1000, testserver.Closed), testserver.Final(testserver.Reply("426 Connection closed; transfer aborted.")))
		case p.Verb == "RETR" && p.Transfer%10 == 7:
			return testserver.Reply("425 Can't open data connection.")
		}
		return nil
	}
}

// TestENAReport fetches the files of an ENA report from a server that refuses connections and breaks transfers. The
// command is killed in the middle; the same command fetches the rest, a third one nothing.
func TestENAReport(t *testing.T) {
	s := newStudy(t, night.Or(12, 24), 60_000, crowd(4))
	report := s.report()
	code, stderr := s.run(night.Or(80, 160), "--manifest", report)
	if n := len(s.there()); code != -1 || n == 0 || n == len(s.files) {
		t.Fatalf("exit %d with %d files, want a run that is killed in the middle: %s", code, n, stderr)
	}
	s.finish("--manifest", report)
	for name, r := range s.rows() {
		if r.Verified != "md5 given" {
			t.Errorf("%s was verified with %q, want md5 given", name, r.Verified)
		}
	}
	s.finish("--manifest", report)
	if got := s.Commands(); len(got) > 0 {
		t.Errorf("the third run sent %q", got)
	}
}

// TestKilledAnywhere kills the command at every command that the server receives, by day at some, with digests and
// without. No file is wrong or lost, and none that had its name is fetched again.
func TestKilledAnywhere(t *testing.T) {
	for name, args := range map[string]func(*study) []string{
		"digests": func(s *study) []string { return []string{"--manifest", s.report()} },
		"list":    func(s *study) []string { return []string{"-i", s.list()} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudy(t, 3, 3000, nil)
			arguments := args(s)
			at := 0
			for code := -1; code == -1 && !t.Failed(); {
				if err := os.RemoveAll(filepath.Join(s.dir, "out")); err != nil {
					t.Fatal(err)
				}
				at += night.Or(8, 1)
				var stderr string
				if code, stderr = s.run(at, arguments...); code != -1 && (code != 0 || len(s.there()) != len(s.files)) {
					t.Errorf("exit %d with %d files: %s", code, len(s.there()), stderr)
				}
				s.finish(arguments...)
				if t.Failed() {
					t.Logf("killed at command %d", at)
				}
			}
			if at < 3*len(s.files) {
				t.Errorf("the command ended by itself at command %d, want it killed at commands of every file", at)
			}
		})
	}
}
