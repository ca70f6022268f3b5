//go:build interop

package interop

import (
	"bufio"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

var memoryLines = flag.Int("memory.lines", night.Or(5_000, 1_000_000), "lines of the long manifests of TestMemory")
var memoryFiles = flag.Int("memory.files", night.Or(300, 20_000), "lines of the manifests of TestMemory that need connections")

// mostMemory bounds the peak of the command's resident memory, in KiB: 110 MiB for a million lines.
func mostMemory(lines int) int { return 60<<10 + lines*50<<10/1_000_000 }

// TestMemory checks that the command's memory stays bounded over long manifests, whatever happens to the files.
func TestMemory(t *testing.T) {
	t.Parallel()
	binary := build(t)
	tests := []struct {
		name  string
		lines int
		code  int
		last  string // the beginning of the last line, with %[1]d for the number of lines
		plant func(m *longManifest)
	}{
		{"complete before", *memoryLines, 0, "%[1]d of %[1]d complete in out/vol1/, %[1]d already there", (*longManifest).leaveFiles},
		{"no server", *memoryFiles, 7, "0 of %[1]d complete, %[1]d failed", func(m *longManifest) { m.host = "127.0.0.1" }},
		{"refused", *memoryFiles, 9, "0 of %[1]d complete, %[1]d failed", func(m *longManifest) { m.serve(nil) }},
		{"fetched", *memoryFiles, 0, "%[1]d of %[1]d complete in out/vol1/, %[1]d verified: ", func(m *longManifest) {
			files := make(map[string]string)
			for i := range m.lines {
				files["/"+m.file(i)] = "x"
			}
			m.serve(files)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := &longManifest{T: t, lines: test.lines, dir: t.TempDir()}
			test.plant(m)
			m.write("manifest.tsv", "url\tpath\tsize\tmd5\n", func(i int) string {
				return fmt.Sprintf("ftp://%s/%s\t%s\t1\t%s\n", m.host, m.file(i), m.file(i), md5OfX)
			})
			cmd := exec.CommandContext(t.Context(), binary, "-d", "out", "--manifest", "manifest.tsv", "--report", "report.json")
			var messages strings.Builder
			cmd.Dir, cmd.Stderr = m.dir, &messages
			peak := peakOf(t, cmd)
			last := messages.String()[strings.LastIndexByte(strings.TrimSuffix(messages.String(), "\n"), '\n')+1:]
			if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.HasPrefix(last, fmt.Sprintf(test.last, test.lines)) {
				t.Errorf("exit %d, want %d and %q: %s", code, test.code, fmt.Sprintf(test.last, test.lines), messages.String())
			}
			t.Logf("%d lines, %d KiB", test.lines, peak)
			if peak == 0 || peak > mostMemory(test.lines) {
				t.Errorf("the command used %d KiB for %d lines, want at most %d", peak, test.lines, mostMemory(test.lines))
			}
		})
	}
}

// TestMemoryOfListings lists a directory with a million names. -l may take at most 200 MiB.
func TestMemoryOfListings(t *testing.T) {
	var text strings.Builder
	for i := range *memoryLines {
		fmt.Fprintf(&text, "type=file;size=1;modify=20240102030405;UNIX.mode=0644; ERR%07d_1.fastq.gz\r\n", *memoryLines-i)
	}
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Transfer(text.String())))
	for _, flags := range []string{"-l", "--json", "--sort size"} {
		cmd := exec.CommandContext(t.Context(), build(t), append(strings.Fields(flags), s.URL("/d/"))...)
		var out strings.Builder
		cmd.Stdout = &out
		peak, most := peakOf(t, cmd), 60<<10+*memoryLines*140<<10/1_000_000
		t.Logf("%s: %d names, %d KiB", flags, *memoryLines, peak)
		if n := strings.Count(out.String(), "\n"); n != *memoryLines || peak == 0 || peak > most {
			t.Errorf("%s: %d of %d names, %d KiB, want at most %d", flags, n, *memoryLines, peak, most)
		}
	}
}

// peakOf runs cmd and returns the peak of its resident memory, in KiB. It polls while cmd runs: the peak that the
// system reports at the end includes that of this process, of which the child was first a copy.
func peakOf(t *testing.T, cmd *exec.Cmd) (peak int) {
	t.Helper()
	must.Do(t, cmd.Start())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = cmd.Wait() // the exit code is checked instead
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if _, text, ok := strings.Cut(string(status), "VmHWM:"); ok {
			var now int
			if _, err := fmt.Sscan(text, &now); err == nil {
				peak = max(peak, now)
			}
		}
		select {
		case <-tick.C:
		case <-over:
			return peak
		}
	}
}

// longManifest is a manifest of files that all contain "x".
type longManifest struct {
	*testing.T
	lines     int
	dir, host string
}

const md5OfX = "9dd4e461268c8034f5c8564e155c67a6"

func (m *longManifest) file(i int) string {
	return fmt.Sprintf("vol1/fastq/ERR%04d/ERR%07d_1.fastq.gz", i/1000, i)
}

// write writes a file with one line for each line of the manifest.
func (m *longManifest) write(name, head string, line func(int) string) {
	m.Helper()
	f := must.Get(os.Create(filepath.Join(m.dir, name)))(m)
	defer f.Close()
	w := bufio.NewWriter(f)
	_, err := w.WriteString(head)
	for i := 0; i < m.lines && err == nil; i++ {
		_, err = w.WriteString(line(i))
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		m.Fatal(err)
	}
}

// serve starts a server with files.
func (m *longManifest) serve(files map[string]string) {
	m.host = testserver.New(m, &testserver.Options{Tree: files}).Addr()
}

// leaveFiles creates the output directory that a complete run leaves. All files of a directory are links to one file.
func (m *longManifest) leaveFiles() {
	m.host = "127.0.0.1"
	out := filepath.Join(m.dir, "out")
	first := ""
	for i := range m.lines {
		path := filepath.Join(out, m.file(i))
		var err error
		if i%1000 == 0 {
			first, err = path, writeFile(path, "x")
		} else {
			err = os.Link(first, path)
		}
		if err != nil {
			m.Fatal(err)
		}
	}
	m.write("out/.ftpfetch-ledger", "", func(i int) string {
		return fmt.Sprintf(`{"path":"%s","url":"ftp://%s/%[1]s","size":1,"modified":"%[3]s","sum":"md5:%[4]s","verified":"md5 given"}`+"\n",
			m.file(i), m.host, modTime.Format(time.RFC3339), md5OfX)
	})
}

// archive is a replica on a server, and the command that fetches it.
type archive struct {
	*mirror
	*replica
	command string
}

// fetch runs the command and returns its exit code, its messages and the contents of each file that is there.
func (a *archive) fetch(dir string) (code int, stderr string, there map[string]string) {
	a.Helper()
	at := strings.NewReplacer("'", "", "report.tsv", "../report.tsv").Replace(regexp.MustCompile(`ftp://[a-z][a-z0-9.-]*`).ReplaceAllString(a.command, a.server.URL("")))
	cmd, there := exec.CommandContext(testContext(a.T), a.binary, strings.Fields(at)[1:]...), make(map[string]string)
	cmd.Dir = filepath.Join(a.dir, dir)
	must.Do(a, os.MkdirAll(cmd.Dir, 0o755))
	out, _ := cmd.CombinedOutput() // the exit code is checked instead
	must.Do(a, filepath.WalkDir(cmd.Dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			there[e.Name()] = string(must.Get(os.ReadFile(name))(a))
		}
		return err
	}))
	return cmd.ProcessState.ExitCode(), string(out), there
}

// TestArchives runs the commands of docs/archives.md on replicas, again after a file has changed, and after one has
// been removed. A file that differs from the list must never get its name.
func TestArchives(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../docs/archives.md"))(t))
	sections := make(map[string]string)
	for _, f := range txtar.Parse(must.Get(os.ReadFile("testdata/archives.txtar"))(t)).Files {
		sections[f.Name] = string(f.Data)
	}
	rows := regexp.MustCompile(`(?m)^    (ftpfetch .*?) +# (\w+): (.*)$`).FindAllStringSubmatch(page, -1)
	if len(rows) != 12 {
		t.Fatalf("%d commands", len(rows))
	}
	forEachMirror(t, func(m *mirror) {
		if m.server.Kind != Vsftpd && night.Or(1, 0) == 1 {
			return
		}
		for _, row := range rows {
			r := newReplica(row[2], sections, m.server.URL(""))
			a := &archive{m, r, row[1]}
			a.check(strings.Contains(row[3], "MD5") || strings.Contains(row[3], "SHA") || strings.Contains(row[3], "sum"))
		}
	})
}

func (a *archive) write(age time.Duration, lists bool) {
	a.Helper()
	must.Do(a, a.replica.write(a.source, a.dir, age, lists))
}

// check checks one archive. digests says whether its lists have digests.
func (a *archive) check(digests bool) {
	a.Helper()
	wants := func(when, dir string, codes string) {
		a.Helper()
		code, stderr, there := a.fetch(dir)
		for _, name := range a.data {
			if text, ok := there[path.Base(name)]; ok != (a.texts[name] != "") || text != a.texts[name] {
				a.Errorf("%s, %s: %s: there: %v, right: %v", a.name, when, name, ok, text == a.texts[name])
			}
		}
		if !strings.Contains(codes, fmt.Sprintf(" %d ", code)) {
			a.Errorf("%s, %s: exit %d, want%s\n%s", a.name, when, code, codes, stderr)
		}
	}
	a.write(48*time.Hour, true)
	wants("at first", a.name, " 0 ")
	wants("again", a.name, " 0 ")
	first, last := a.data[0], a.data[len(a.data)-1]
	if right := a.texts[first]; digests {
		a.texts[first] = "X" + right[1:] // with the same size
		a.write(24*time.Hour, false)
		a.texts[first] = ""
		wants("damaged", a.name+"2", " 100 ")
		a.texts[first] = right
	}
	a.texts[first] += "changed"
	a.write(time.Hour, true)
	wants("changed", a.name, " 0 ")
	must.Do(a, os.Remove(a.source+last))
	codes := " 0 "
	if strings.Contains(a.command, "--delete") {
		a.texts[last] = ""
	} else if strings.Contains(a.command, "--manifest") && (!digests || strings.Contains(a.command, "--verify")) { // still listed
		codes = " 78 "
	}
	wants("one is gone", a.name, codes)
}
