//go:build unix

package cli_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
)

// documented is a command line of the documents, and what it must do.
type documented struct {
	line  string // without its comment
	files string // the files that it leaves in its directory, except the ledger
	out   string // a pattern for all of standard output
	err   string // a pattern for some part of standard error
	code  int    // the exit code
}

// documentedCommands has every command line of README.md and docs/*.md once.
var documentedCommands = []documented{
	// README.md
	{line: "ftpfetch ftp://ftp.example.org/pub/file.gz", files: "file.gz", err: "file.gz: "},
	{line: "ftpfetch 'ftp://ftp.example.org/pub;type=d'", out: "pub/a.zip\npub/big.iso\npub/big.iso.sha256\npub/file\npub/file.gz\npub/project\n"},
	{line: "ftpfetch ftp://ftp.example.org/pub/", out: "a.zip\nbig.iso\nbig.iso.sha256\nfile\nfile.gz\nproject\n"},
	{line: "ftpfetch -o - ftp://ftp.example.org/pub/file.gz | gzip -dc", out: "unpacked"},
	{line: "ftpfetch --dry-run 'ftp://host.dom/%2Fetc/motd'", out: "CONNECT .*\nUSER anonymous\nPASS <anonymous>\nCWD /etc\nTYPE I\nRETR motd\n"},
	{line: "ftpfetch -v ftp://user@host.dom/file", files: "file", err: "(?s)> USER user\n.*< 331 .*> PASS \\*+\n"},
	{line: "ftpfetch -s 4 --verify ftp://ftp.example.org/pub/big.iso", files: "big.iso", err: "sha256 in big.iso.sha256"},
	{line: "ftpfetch -s auto ftp://ftp.example.org/pub/big.iso", files: "big.iso"},
	{line: "ftpfetch -l ftp://ftp.example.org/pub/", out: "(?s)-.* 4194304 .*  big.iso\n.*d.*  project/\n"},
	{line: "ftpfetch --manifest report.tsv -d data --per-host 4", files: "data/file data/file.gz report.tsv urls.txt", err: "2 of 2 complete"},
	{line: "ftpfetch -r -N -d mirror ftp://ftp.example.org/pub/",
		files: "mirror/a.zip mirror/big.iso mirror/big.iso.sha256 mirror/file mirror/file.gz mirror/project/read.me", err: "6 of 6 complete"},
	{line: "ftpfetch --glob --newest 1 'ftp://ftp.example.org/pub/*.gz'", files: "file.gz", err: "1 of 1 complete"},
	{line: "ftpfetch ftpes://ftp.example.org/pub/file", files: "file"},
	{line: "ftpfetch --cacert host.pem ftpes://host.dom/file", files: "file host.pem"},
	{line: "ftpfetch --help=bash > ~/.local/share/bash-completion/completions/ftpfetch", files: ".local/share/bash-completion/completions/ftpfetch"},
	{line: `ftpfetch --help=zsh > "${fpath[1]}/_ftpfetch"`, files: "functions/_ftpfetch"},
	{line: "ftpfetch --help=fish > ~/.config/fish/completions/ftpfetch.fish", files: ".config/fish/completions/ftpfetch.fish"},

	// docs/many.md
	{line: "ftpfetch -i urls.txt -d data", files: "data/file data/file.gz report.tsv urls.txt", err: "2 of 2 complete"},
	{line: "ftpfetch --manifest report.tsv -d data", files: "data/file data/file.gz report.tsv urls.txt", err: "2 of 2 complete"},
	{line: "ftpfetch -r ftp://ftp.example.org/pub/project/", files: "project/read.me", err: "1 of 1 complete"},
	{line: "ftpfetch -r -d data ftp://ftp.example.org/pub/project/", files: "data/read.me", err: "1 of 1 complete"},
	{line: "ftpfetch -r -d data --keep-dirs=1 ftp://ftp.example.org/pub/project/", files: "data/project/read.me", err: "1 of 1 complete"},
	{line: "ftpfetch -r -d data --keep-dirs ftp://ftp.example.org/pub/project/", files: "data/pub/project/read.me", err: "1 of 1 complete"},
	{line: "ftpfetch --glob 'ftp://ftp.example.org/pub/*.gz'", files: "file.gz", err: "1 of 1 complete"},
	{line: "ftpfetch --glob -o - 'ftp://ftp.example.org/pub/*.gz' | gzip -dc", out: "unpacked"},
	{line: "ftpfetch --glob --newest 1 -o - 'ftp://ftp.example.org/pub/*.gz' | gzip -dc", out: "unpacked"},
	{line: "ftpfetch -r -N --delete --dry-run -d mirror ftp://ftp.example.org/pub/", out: "(fetch\t[0-9]+\tmirror/.*\tnot here\n){6}total\t[0-9]+\t6 to fetch, .*\n"},
	{line: "ftpfetch -r --once -d incoming ftp://ftp.example.org/pub/",
		files: "incoming/a.zip incoming/big.iso incoming/big.iso.sha256 incoming/file incoming/file.gz incoming/project/read.me", err: "6 of 6 complete"},
	{line: `ftpfetch -r --once -d incoming --exec 'wc -c "$1"' ftp://ftp.example.org/pub/`, out: "( *[0-9]+ /.*/incoming/.*\n){6}",
		files: "incoming/a.zip incoming/big.iso incoming/big.iso.sha256 incoming/file incoming/file.gz incoming/project/read.me", err: "6 of 6 complete"},
	{line: "ftpfetch -r --check -d mirror ftp://ftp.example.org/pub/", out: "(missing\t[0-9]+\tmirror/.*\tnot here\n){6}total\t[0-9]+\t6 missing, 0 differ, 0 extra, 0 the same\n",
		err: "mirror does not exist, so everything is missing", code: 80},
	{line: "ftpfetch -j 6 ftp://a.example/x ftp://b.example/y", files: "x y", err: "2 of 2 complete"},

	// docs/progress.md
	{line: "ftpfetch --progress json ftp://ftp.example.org/pub/a.zip 2>&1 >/dev/null | " +
		`jq -Rr 'fromjson? | select(.event == "progress") | "\(.received) of \(.size)"'`, files: "a.zip", out: `(?s).*"event":"done".*`},
}

// documentedCommand finds a command in an indented or fenced block. A line that ends in "|" continues on the next line.
var documentedCommand = regexp.MustCompile(`(?m)^(?:    )?(ftpfetch (?:.*\|\n\t?)?.*)$`)
var lineComment = regexp.MustCompile(` +# .*$`)

// notOurs are documents whose commands other tests run: lab/interop those of archives.md, lab/bench those of
// performance.md.
var notOurs = []string{"../../../docs/archives.md", "../../../docs/performance.md"}

// TestDocumentedCommands has bash run the command lines of README.md and docs as written, with the embedded server in
// place of their hosts. It replaces the program after a pipe by cat if a machine may lack the program.
func TestDocumentedCommands(t *testing.T) {
	found := documentedLines(t)
	for i, c := range documentedCommands {
		if !slices.Contains(found, c.line) {
			t.Errorf("row %d is in no document: %s", i, c.line)
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
	for _, line := range found {
		if !slices.ContainsFunc(documentedCommands, func(c documented) bool { return c.line == line }) {
			t.Errorf("no row runs this command of the documents: %s", line)
		}
	}
}

func documentedLines(t *testing.T) (lines []string) {
	t.Helper()
	files := must.Get(filepath.Glob("../../../docs/*.md"))(t)
	for _, file := range append(files, "../../../README.md") {
		text := must.Get(os.ReadFile(file))(t)
		if slices.Contains(notOurs, filepath.ToSlash(file)) {
			continue
		}
		for _, match := range documentedCommand.FindAllStringSubmatch(string(text), -1) {
			line := strings.ReplaceAll(match[1], "|\n\t", "| ")
			if indented := strings.HasPrefix(match[0], " "); indented || strings.Contains(line, "://") {
				lines = append(lines, lineComment.ReplaceAllString(line, ""))
			}
		}
	}
	return lines
}

func (c documented) check(t *testing.T) {
	s, dir := documentedServer(t), t.TempDir()
	host := strings.NewReplacer("ftp.example.org", s.Addr(), "host.dom", s.Addr(), "a.example", s.Addr(), "b.example", s.Addr(), "jq -Rr", "cat #")
	// README.md says that these directories must exist.
	for _, sub := range []string{".local/share/bash-completion/completions", ".config/fish/completions", "functions"} {
		writeFile(t, filepath.Join(dir, sub, "old"), "")
	}
	writeFile(t, filepath.Join(dir, ".netrc"), "machine 127.0.0.1 login user password secret\n")
	writeFile(t, filepath.Join(dir, ".ca.pem"), authority())
	if strings.Contains(c.line, "urls.txt") || strings.Contains(c.line, "report.tsv") {
		writeFile(t, filepath.Join(dir, "urls.txt"), s.URL("/pub/file")+"\n"+s.URL("/pub/file.gz")+"\n")
		writeFile(t, filepath.Join(dir, "report.tsv"), "url\tsize\n"+s.URL("/pub/file")+"\t8\n"+s.URL("/pub/file.gz")+"\t\n")
	}
	if strings.Contains(c.line, "host.pem") { // the server's own certificate
		id := must.Get(throwaway.Loopback())(t)
		writeFile(t, filepath.Join(dir, "host.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: id.Server.Certificate[0]})))
	}
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -o pipefail; fpath=(none ~/functions)\n"+host.Replace(c.line))
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "HOME="+dir, "SSL_CERT_FILE="+filepath.Join(dir, ".ca.pem"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != c.code {
		t.Fatalf("%s: %v\n%s%s", c.line, err, stdout.String(), stderr.String())
	}
	if !regexp.MustCompile("^(?:" + c.out + ")$").MatchString(stdout.String()) {
		t.Errorf("%s: standard output is\n%s\nwant %s", c.line, stdout.String(), c.out)
	}
	if !regexp.MustCompile(c.err).MatchString(stderr.String()) {
		t.Errorf("%s: standard error is\n%s\nwant %s", c.line, stderr.String(), c.err)
	}
	if got := filesBelow(t, dir); got != c.files {
		t.Errorf("%s: got files %s, want %s", c.line, got, c.files)
	}
}

// documentedServer serves what the documents' URLs name.
func documentedServer(t *testing.T) *testserver.Server {
	big := strings.Repeat("abcd", 1<<20)
	return testserver.New(t, &testserver.Options{TLSConfig: &tls.Config{}, Users: map[string]string{"user": "secret"}, Tree: map[string]string{
		"/pub/file.gz": packed("unpacked"), "/pub/file": "contents", "/pub/a.zip": "zip", "/pub/project/read.me": "read", "/pub/big.iso": big,
		"/pub/big.iso.sha256": fmt.Sprintf("%x  big.iso\n", sha256.Sum256([]byte(big))), "/file": "mine", "/x": "x", "/y": "y",
	}})
}

func packed(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// filesBelow returns the names of the files, except the ledger and the files that check has made.
func filesBelow(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	must.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch d.Name() {
		case "old", ".netrc", ".ca.pem", ".ftpfetch-ledger":
			return err
		}
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, dir+string(filepath.Separator)))
		}
		return err
	}))
	return strings.Join(names, " ")
}

// TestClosedFromTheStart checks that a standard output that is closed from the start causes no message and no failure.
func TestClosedFromTheStart(t *testing.T) {
	s := documentedServer(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "ftpfetch -o - "+s.URL("/pub/file")+" >&-")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("8 B in")) {
		t.Errorf("got %q, %v", out, err)
	}
}

// newFIFO makes a FIFO. If reached is not nil, newFIFO opens the FIFO for writing, never writes, and calls reached once a
// reader has opened it.
func newFIFO(t *testing.T, reached func()) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	if reached == nil {
		return path
	}
	go func() {
		for t.Context().Err() == nil {
			f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err == nil {
				reached()
				<-t.Context().Done()
				f.Close()
				return
			}
			runtime.Gosched()
		}
	}()
	return path
}

// TestFIFOs checks that every ending ends a run that waits for a FIFO.
func TestFIFOs(t *testing.T) {
	t.Parallel()
	s := testserver.New(t, nil, testserver.Honest("contents"))
	var all sync.WaitGroup
	defer all.Wait()
	cert := filepath.Join(t.TempDir(), "cert")
	writeFile(t, cert, authority())
	for _, flag := range []string{"--cacert", "--cert", "--cert " + cert + " --key", "--netrc=", "-o"} {
		for _, e := range endings {
			ctx, end := e.begin(t)
			reached := end
			if flag == "-o" { // the run opens the FIFO, and waits for a reader, before it connects
				reached = nil
				end()
			}
			args := slices.Concat(e.args, strings.Fields(strings.Replace(flag+" "+newFIFO(t, reached), "= ", "=", 1)), []string{s.URL("/f")})
			all.Go(func() {
				if got := ends(t, ctx, args, cli.IO{Out: io.Discard, Err: io.Discard}); got != e.code {
					t.Errorf("%s, %s: exit %d, want %d", flag, e.name, got, e.code)
				}
			})
		}
	}
}

// fullPipe returns a pipe that accepts no more data.
func fullPipe(t *testing.T) (w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	fd := int(w.Fd())
	must.Do(t, syscall.SetNonblock(fd, true))
	for size := 4096; size > 0; {
		if _, err := syscall.Write(fd, make([]byte, size)); err != nil {
			size /= 2
		}
	}
	must.Do(t, syscall.SetNonblock(fd, false))
	return w
}

// TestProcessWithFullPipe runs the command with standard output or standard error on a full pipe that nobody reads.
func TestProcessWithFullPipe(t *testing.T) {
	t.Parallel()
	contents := strings.Repeat("0123456789abcdef", 1<<16)
	tests := []struct {
		stdout bool // standard output is the full pipe, not standard error
		args   []string
	}{
		{true, []string{"-o", "-"}},
		{true, []string{"-o", "/dev/stdout"}},
		{true, []string{"-o", "-", "--limit-rate", "1G"}},
		{false, []string{"--progress", "json"}},
		{false, []string{"--progress", "bar"}},
		{false, nil},
	}
	var all sync.WaitGroup
	defer all.Wait()
	for _, tt := range tests {
		for _, e := range endings {
			reached := make(chan struct{}, 1)
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}, Fault: func(p *testserver.Conn) testserver.Action {
				if p.Transfer == 1 {
					select {
					case reached <- struct{}{}:
					default:
					}
				}
				return nil
			}})
			cmd := exec.CommandContext(t.Context(), "ftpfetch", slices.Concat(e.args, tt.args, []string{s.URL("/f")})...)
			cmd.Dir = t.TempDir()
			if tt.stdout {
				cmd.Stdout = fullPipe(t)
			} else {
				cmd.Stderr = fullPipe(t)
			}
			must.Do(t, cmd.Start())
			all.Go(func() {
				if e.with != nil {
					select {
					case <-reached:
					case <-time.After(ample / 2): // a message was due before, and waits; by now the process has long begun to listen for signals
					}
					_ = cmd.Process.Signal(e.with)
				}
				_ = cmd.Wait()
				got := cmd.ProcessState.ExitCode()
				_, err := os.Stat(filepath.Join(cmd.Dir, "f"))
				if done := err == nil && e.with == nil; got != e.code && !(done && got == 0) {
					t.Errorf("%q, %s: exit %d, want %d", tt.args, e.name, got, e.code)
				}
			})
		}
	}
}

// TestCheckedMirror runs the recipe mirror-check.sh: it is silent if mirror and server are the same, and otherwise prints
// what differs, with the code of --check, or of the mirror if that fails.
func TestCheckedMirror(t *testing.T) {
	s, dir := documentedServer(t), t.TempDir()
	recipe := must.Get(filepath.Abs("../../../docs/recipes/mirror-check.sh"))(t)
	for i, tt := range []struct {
		prepare, want string
		code          int
	}{
		{"true", "", 0},
		{"echo mine >tree/mine", "extra\t5\ttree/mine\tnot on the server\ntotal\t0\t0 missing, 0 differ, 1 extra, 6 the same\n", 80},
		{"rm tree/mine; rm tree/file", "", 0},
		{"rm tree/file; mkdir tree/file", "(?s)ftpfetch: .*/pub/file: tree/file: is a directory here and a file on the server .*, 1 failed\n", 23},
	} {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", tt.prepare+"; exec bash "+recipe+" "+s.URL("/pub/")+" tree")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if !regexp.MustCompile("^(?:"+tt.want+")$").Match(out) || cmd.ProcessState.ExitCode() != tt.code {
			t.Errorf("%d: %v\n%s\nwant %s", i, err, out, tt.want)
		}
	}
}
