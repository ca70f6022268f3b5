//go:build interop && linux

package interop

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

var crashMoments = flag.Int("crash.moments", night.Or(1, 3), "TestCrash looks at `n` moments of each run")
var crashPlays = flag.Int("crash.plays", night.Or(1, 12), "TestCrash plays `n` scenes on each file system")

// fileSystems are the file systems on which the machine crashes.
var fileSystems = []struct {
	name, kind string
	make       string // the command that makes it
	repair     string // the command that repairs it, without a journal
	shutdown   bool   // it has an ioctl for a shutdown
}{
	{"ext4", "ext4", "mkfs.ext4 -q -F -E nodiscard", "", true},
	{"ext4 without a journal", "ext4", "mkfs.ext4 -q -F -E nodiscard -O ^has_journal", "e2fsck -fy", true},
	{"xfs", "xfs", "mkfs.xfs -q -f -K", "", false}, // after its shutdown fsync of a directory may return no error
	{"btrfs", "btrfs", "mkfs.btrfs -q -f -K", "", false},
}

// crashScene is a command that saves files below OUT.
type crashScene struct {
	args string
	want string // a pattern for the server's files that are fetched
	tree bool   // including the directories
	old  int    // bytes of the one file that exists before
}

var crashScenes = []crashScene{
	{"-j 6 -i LIST -d OUT --report REPORT", "/t/*/*", false, 0},
	{"-j 6 --manifest MANIFEST -d OUT --report REPORT", "/t/*/*", true, 0},
	{"-j 6 -r SERVER/t/ -d OUT --report REPORT", "/t/*/*", true, 0},
	{"-j 6 -r --overwrite SERVER/t/ -d OUT --report REPORT", "/t/*/*", true, 9},
	{"-j 2 SERVER/t/1/f16 SERVER/t/2/f17 -d OUT --report REPORT", "/t/[12]/f1[67]", false, 0},
	{"--no-clobber SERVER/large -d OUT", "/large", false, 0},
	{"-c SERVER/large -d OUT", "/large", false, 1_000_000},
	{"--no-clobber -s 2 --limit-rate 3M SERVER/large -d OUT", "/large", false, 0},
}

// TestCrash cuts the power of the machine at random moments while the command runs. The disk keeps what was flushed,
// and any part of what was written since. Files that were reported complete must then be complete, no name may have a
// part of a file, and the same command must complete the rest. Another run continues after its file system was shut
// down.
func TestCrash(t *testing.T) {
	t.Parallel()
	command := build(t)
	files := map[string]string{"/large": strings.Repeat("0123456789abcdef", 1<<18)}
	for i := range 30 {
		name := fmt.Sprintf("/t/%d/f%d", i%3, i)
		files[name] = strings.Repeat(name, i*i*i/9)
	}
	server := testserver.New(t, &testserver.Options{Tree: files, ModTime: modTime})
	for _, system := range fileSystems {
		t.Run(system.name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			m := &machine{disks: mountDisks(t), rand: rand.New(rand.NewPCG(seed, 0)), command: command, kind: system.kind,
				repair: system.repair, files: files, server: server}
			m.writeLists()
			empty := m.format(system.make)
			for i, from := 0, m.rand.IntN(len(crashScenes)); i < *crashPlays; i++ {
				m.play(crashScenes[(from+i)%len(crashScenes)], empty, system.shutdown)
			}
			t.Logf("%d states of the disk after a crash, seed %d", m.looked, seed)
		})
	}
}

// machine runs commands on a file system that crashes.
type machine struct {
	*disks
	rand                  *rand.Rand
	command, kind, repair string
	files                 map[string]string // the files of the server
	server                *testserver.Server
	list, manifest        string // the names of the lists
	looked                int    // number of checked states after a crash
}

// crashed is what a crash leaves.
type crashed struct {
	blocks   map[int64]block
	complete map[string]bool // the files that were reported complete
	how      string          // "" before the first crash
}

func (m *machine) writeLists() {
	m.list, m.manifest = filepath.Join(m.TempDir(), "list"), filepath.Join(m.TempDir(), "manifest.tsv")
	var list, manifest strings.Builder
	manifest.WriteString("url\tpath\tsize\tmd5\n")
	for name, text := range m.files {
		if name != "/large" {
			fmt.Fprintln(&list, m.server.URL(name))
			fmt.Fprintf(&manifest, "%s\t%s\t%d\t%x\n", m.server.URL(name), strings.TrimPrefix(name, "/t/"), len(text), md5.Sum([]byte(text)))
		}
	}
	must.Do(m, errors.Join(writeFile(m.list, list.String()), writeFile(m.manifest, manifest.String())))
}

// format returns a disk with an empty file system.
func (m *machine) format(line string) map[int64]block {
	m.Helper()
	d := newDisk(map[int64]block{})
	must.Do(m, m.inside(line+" "+m.insert(d)))
	return d.seen
}

// mount repairs and mounts d, and returns the directory. The caller must call unmount.
func (m *machine) mount(d *disk) (dir string) {
	m.Helper()
	file, dir := m.insert(d), m.TempDir()
	if m.repair != "" {
		// The command exits with 1 if it has repaired something.
		if err := m.inside(m.repair + " " + file); err != nil && !strings.Contains(err.Error(), "exit status 1:") {
			m.Fatal(err)
		}
	}
	must.Do(m, m.inside("mount -o loop -t "+m.kind+" "+file+" "+dir))
	return dir
}

// unmount retries while another process has something open, such as one that reads all mounts.
func (m *machine) unmount(dir string) {
	m.Helper()
	var err error
	for range 100 {
		if err = m.inside("umount " + dir); err == nil {
			return
		}
	}
	m.Fatal(err)
}

// play runs the scene, and runs it again on what crashes have left.
func (m *machine) play(s crashScene, empty map[int64]block, shutdown bool) {
	first, events := m.run(s, crashed{blocks: empty}, *crashMoments, 0, false)
	for _, fails := range []bool{false, true} {
		if shutdown {
			after, _ := m.run(s, crashed{blocks: empty}, 0, 1+m.rand.IntN(events+1), fails)
			first = append(first, after...)
		}
	}
	for _, state := range first {
		again, _ := m.run(s, state, 1, 0, false)
		_, _ = m.run(s, again[0], 0, 0, false)
	}
}

// run runs the scene's command to its end. It returns what the disk would hold if the power were cut at random moments
// and at the end, and the number of writes and flushes. At event shutdown, unless that is 0, the file system is shut
// down or the disk fails.
func (m *machine) run(s crashScene, from crashed, moments, shutdown int, fails bool) (states []crashed, events int) {
	d, now := newDisk(maps.Clone(from.blocks)), make(chan bool, 2)
	dir := m.mount(d)
	defer m.unmount(dir)
	out, report := filepath.Join(dir, "out"), filepath.Join(m.TempDir(), "report")
	m.looked++
	m.check(s, m.path(out), from, false)
	if from.how == "" {
		m.plant(s, m.path(out), d)
	}
	crash := func(how string) crashed {
		return crashed{d.afterCrash(m.rand), m.reported(report, from.complete), from.how + how}
	}
	d.watch(func() {
		events++
		if events == shutdown {
			d.fails = fails
			now <- !fails
		}
		if n := m.rand.IntN(events); len(states) < moments {
			states = append(states, crash(fmt.Sprint(" event ", events)))
		} else if n < moments { // so that each moment is equally likely
			states[n] = crash(fmt.Sprint(" event ", events))
		}
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		if <-now {
			m.shutDown(m.path(dir))
		}
	}()
	said, err := m.start(s, out, report).CombinedOutput()
	d.watch(nil)
	now <- false
	<-over
	d.mu.Lock()
	last := crash(" end")
	d.mu.Unlock()
	if err == nil {
		for name := range m.wanted(s) {
			last.complete[name] = true
		}
	} else if shutdown == 0 {
		m.Errorf("%s, after%s: %v: %s", s.args, from.how, err, said)
	}
	if shutdown == 0 {
		m.check(s, m.path(out), last, err == nil)
	}
	return append(states, last), events
}

func (m *machine) shutDown(dir string) {
	top, err := os.Open(dir)
	if err == nil {
		defer top.Close()
		const shutdown, flushLog, dropLog = 0x8004587d, 1, 2
		err = unix.IoctlSetPointerInt(int(top.Fd()), shutdown, []int{flushLog, dropLog}[rand.IntN(2)])
	}
	if err != nil {
		m.Error(err)
	}
}

func (m *machine) start(s crashScene, out, report string) *exec.Cmd {
	args := strings.NewReplacer("SERVER", m.server.URL(""), "OUT", out, "REPORT", report, "LIST", m.list, "MANIFEST", m.manifest).Replace(s.args)
	ctx, cancel := context.WithTimeout(m.Context(), time.Minute)
	m.Cleanup(cancel)
	return exec.CommandContext(ctx, "nsenter", append([]string{"--mount", "--target", m.space, m.command, "-q"}, strings.Fields(args)...)...)
}

// wanted returns the files that the scene fetches, by their paths relative to the output directory.
func (m *machine) wanted(s crashScene) map[string]string {
	all := map[string]string{}
	for name, text := range m.files {
		if ok, _ := path.Match(s.want, name); ok && s.tree {
			all[strings.TrimPrefix(name, "/t/")] = text
		} else if ok {
			all[path.Base(name)] = text
		}
	}
	return all
}

// plant writes the files that exist before the scene, and flushes them to the disk.
func (m *machine) plant(s crashScene, out string, d *disk) {
	for name, text := range m.wanted(s) {
		if s.old > 0 {
			must.Do(m, writeFile(filepath.Join(out, name), text[:min(s.old, len(text))]))
		}
	}
	unix.Sync()
	d.flush() // without a journal, some of this was not flushed
}

// reported returns the files that the report and earlier reports list as complete.
func (m *machine) reported(report string, before map[string]bool) map[string]bool {
	all := map[string]bool{}
	maps.Copy(all, before)
	text, _ := os.ReadFile(report) // without a report, nothing is complete before the end
	for line := range bytes.Lines(text) {
		var row struct{ Path, Status string }
		if err := json.Unmarshal(line, &row); err == nil && (row.Status == "complete" || row.Status == "before") {
			all[row.Path] = true
		}
	}
	return all
}

// check checks the files with their final names. With only, there must be no others.
func (m *machine) check(s crashScene, out string, c crashed, only bool) {
	m.Helper()
	want := m.wanted(s)
	// Without a journal, the first part of a rename on the disk may be the removal of the replaced file, without the
	// new name.
	replaced := !only && s.old > 0 && m.repair != ""
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(out, name))
		switch {
		case err == nil && (string(got) == text || s.old > 0 && !c.complete[name] && string(got) == text[:min(s.old, len(text))]):
		case !errors.Is(err, fs.ErrNotExist) || c.complete[name] && !replaced:
			m.Errorf("%s, after%s: %s (reported: %v) has %d bytes of %d: %v", s.args, c.how, name, c.complete[name], len(got), len(text), err)
		}
	}
	_ = filepath.WalkDir(out, func(found string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(out, found)
		if _, ok := want[name]; only && (err != nil || !ok && !d.IsDir() && name != ".ftpfetch-ledger") {
			m.Errorf("%s, after%s: left %s: %v", s.args, c.how, name, err)
		}
		return nil
	})
}
