//go:build interop

package interop

import (
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

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/night"
)

// archive is a replica on a server, and the command that fetches it.
type archive struct {
	*mirror
	*replica
	command string
}

// fetch runs the command and returns its exit code and what is there of each file.
func (a *archive) fetch(dir string) (code int, stderr string, there map[string]string) {
	a.Helper()
	at := strings.NewReplacer("'", "", "report.tsv", "../report.tsv").Replace(regexp.MustCompile(`ftp://[a-z][a-z0-9.-]*`).ReplaceAllString(a.command, a.server.URL("")))
	cmd, there := exec.CommandContext(testContext(a.T), a.binary, strings.Fields(at)[1:]...), make(map[string]string)
	cmd.Dir = filepath.Join(a.dir, dir)
	must.Do(a, os.MkdirAll(cmd.Dir, 0o755))
	out, _ := cmd.CombinedOutput() // the exit code tells
	must.Do(a, filepath.WalkDir(cmd.Dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			there[e.Name()] = string(must.Get(os.ReadFile(name))(a))
		}
		return err
	}))
	return cmd.ProcessState.ExitCode(), string(out), there
}

// TestArchives runs the commands of docs/archives.md on replicas, again after a file has changed, and after one is gone. A
// file that is not the one of the list never gets its name.
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

// check checks one archive. digests says that it has some.
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
		a.texts[first] = "X" + right[1:] // of the same size
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
	} else if strings.Contains(a.command, "--manifest") && (!digests || strings.Contains(a.command, "--verify")) { // which still names it
		codes = " 78 "
	}
	wants("one is gone", a.name, codes)
}
