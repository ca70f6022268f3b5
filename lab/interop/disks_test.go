//go:build interop && linux

package interop

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// odd is a file system that keeps less than others, and the shell commands that mount it at $DIR. $TOP is an empty
// directory, and $LOWER one in it. $IMAGE is an empty file of 64 MiB.
type odd struct {
	name, mount string
	longest     int  // octets of a name
	foreign     bool // its files belong to another user, so none can be resumed
	late        bool // it writes a file after it is closed, so that what it makes of a time cannot be seen at once
}

// oddDisks are those that Debian has.
var oddDisks = []odd{
	{name: "bindfs", mount: "bindfs $LOWER $DIR", longest: 255},
	{name: "encfs", mount: "echo secret | encfs --standard -S $LOWER $DIR", longest: 175},
	{name: "bindfs, mode 777", mount: "bindfs -p 0777 --chmod-ignore $LOWER $DIR", longest: 255},
	{name: "ext4 with small inodes", mount: "mkfs.ext4 -q -F -I 128 $IMAGE; mount -o loop $IMAGE $DIR", longest: 255},
	{name: "sshfs", mount: `printf '#!/bin/sh\nexec /usr/lib/openssh/sftp-server' >$TOP/ssh; chmod +x $TOP/ssh; sshfs -o ssh_command=$TOP/ssh x:$LOWER $DIR`, longest: 255},
	{name: "unionfs-fuse", mount: "unionfs-fuse $LOWER=RW $DIR", longest: 255},
	{name: "cryfs", mount: "echo secret | CRYFS_FRONTEND=noninteractive CRYFS_NO_UPDATE_CHECK=true cryfs $LOWER $DIR", longest: 255},
	{name: "gocryptfs", mount: "gocryptfs -q -init -extpass 'echo secret' -scryptn 10 $LOWER; gocryptfs -q -extpass 'echo secret' $LOWER $DIR", longest: 255},
	{name: "exfat-fuse", mount: "mkfs.exfat $IMAGE; mount -t exfat-fuse -o loop $IMAGE $DIR", longest: 255},
	{name: "fuse-overlayfs", mount: "mkdir $TOP/u $TOP/w; fuse-overlayfs -o lowerdir=$LOWER,upperdir=$TOP/u,workdir=$TOP/w $DIR", longest: 250},
	{name: "fuse2fs", mount: "mkfs.ext4 -q -F -I 128 $IMAGE; fuse2fs $IMAGE $DIR", longest: 255},
	{name: "rclone", mount: "rclone mount --config /dev/null --vfs-cache-mode off --daemon :local:$LOWER $DIR", longest: 255, late: true},
	{name: "rclone with a cache", mount: "rclone mount --config /dev/null --vfs-cache-mode writes --vfs-write-back 0 --cache-dir $TOP/cache --daemon :local:$LOWER $DIR", longest: 255},
	{name: "bindfs, of another user", mount: "bindfs --force-user=nobody --chown-ignore $LOWER $DIR", longest: 255, foreign: true},
}

// mountOdd mounts a file system, and returns its directory as the namespace has it.
func (s *space) mountOdd(d odd) string {
	top := s.TempDir()
	image, dir, lower := filepath.Join(top, "image"), filepath.Join(top, "dir"), filepath.Join(top, "lower")
	must.Do(s, errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 64<<20), os.Mkdir(dir, 0o777), os.Mkdir(lower, 0o777)))
	line := fmt.Sprintf("set -e; TOP=%s DIR=%s LOWER=%s IMAGE=%s; %s", top, dir, lower, image, d.mount)
	if code, said := s.run("sh", "-c", line+" >$TOP/said 2>&1 || { cat $TOP/said; false; }"); code != 0 {
		s.Fatalf("%s: exit %d: %s", line, code, said)
	}
	return dir
}

// lengths are lengths of names that the disk takes.
func (d odd) lengths() (all []int) {
	for n := 140; n < d.longest; n += 5 {
		all = append(all, n)
	}
	return append(all, d.longest)
}

// flags returns the flags that work on the disk.
func (d odd) flags(all ...string) []string {
	return slices.DeleteFunc(all, func(flags string) bool {
		// The second disk opens no file that it is still writing. Then the ledger cannot be read, and nothing is deleted.
		return d.foreign && strings.Contains(flags, "-c") || d.late && strings.Contains(flags, "--delete")
	})
}

// oddTimes are times of files that some disks cannot keep.
var oddTimes = map[string]time.Time{
	"plain": modTime, "odd": modTime.Add(time.Second), "1601": time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC),
	"1969": time.Date(1969, 12, 31, 23, 59, 58, 0, time.UTC), "2110": time.Date(2110, 2, 3, 4, 5, 6, 0, time.UTC),
	"2300": time.Date(2300, 2, 3, 4, 5, 6, 0, time.UTC), "9999": time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
}

// TestOddDisks fetches files to disks that keep not every time, name, mode or way to write. Whatever the disk makes of
// them, each run must end with 0 and the right bytes, and the same command again must fetch nothing.
func TestOddDisks(t *testing.T) {
	t.Parallel()
	command := build(t)
	for _, d := range oddDisks[:night.Or(3, len(oddDisks))] {
		t.Run(d.name, func(t *testing.T) {
			t.TempDir() // it is removed after the end of the mounts
			space := newSpace(t)
			o := &oddRun{space: space, odd: d, command: command, dir: space.mountOdd(d), files: map[string]string{}}
			server := afero.NewMemMapFs()
			for name := range oddTimes {
				if !d.late || !strings.HasPrefix(name, "2300") && !strings.HasPrefix(name, "9999") {
					o.files["/t/"+name] = "of " + name
				}
			}
			big := make([]byte, 5<<20)
			_, _ = rand.NewChaCha8([32]byte{}).Read(big)
			o.files["/big"] = string(big)
			for _, n := range d.lengths() {
				o.files["/n/"+strings.Repeat("n", n)] = fmt.Sprint(n)
			}
			o.server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(server), ModTime: modTime, Tree: o.files, Fault: o.fault})
			for name, at := range oddTimes {
				if _, there := o.files["/t/"+name]; there {
					o.names = append(o.names, name)
					must.Do(t, server.Chtimes("/t/"+name, at, at))
				}
			}
			o.times()
			o.tree()
			if !d.foreign {
				o.big()
				o.leftover()
				o.remembered()
			}
			o.long()
		})
	}
}

// oddRun runs the command on one disk.
type oddRun struct {
	*space
	odd
	names   []string // of the files with odd times
	command string
	dir     string // as the namespace has it
	server  *testserver.Server
	files   map[string]string
	cut     atomic.Bool
}

// fault cuts the transfer of the big file as long as cut is set.
func (o *oddRun) fault(c *testserver.Conn) testserver.Action {
	if o.cut.Load() && c.Verb == "RETR" {
		return testserver.EndDataAfter(2<<20, testserver.Closed)
	}
	return nil
}

// fetch runs the command, whose exit code must be 0, and returns how many files the server sent.
func (o *oddRun) fetch(args ...string) (sent int, said string) {
	o.Helper()
	o.server.ResetCommands()
	code, said := o.run(append([]string{o.command, "-q"}, args...)...)
	if code != 0 {
		o.Errorf("%q: exit %d: %s", args, code, said)
	}
	for _, c := range o.server.Commands() {
		if strings.HasPrefix(c, "RETR") {
			sent++
		}
	}
	return sent, said
}

// once runs the command, which must fetch n files, and then again with each of the flags, which must fetch none.
func (o *oddRun) once(n int, flags []string, args ...string) {
	o.Helper()
	if sent, said := o.fetch(args...); n > 0 && sent != n {
		o.Errorf("%q: %d files are sent, want %d: %s", args, sent, n, said)
	}
	for _, flag := range flags {
		again := append(slices.Clone(args), strings.Fields(flag)...)
		if sent, said := o.fetch(again...); sent != 0 {
			o.Errorf("%q again: %d files are sent: %s", again, sent, said)
		}
	}
}

// check compares the bytes of a file.
func (o *oddRun) check(name, from string) {
	o.Helper()
	got, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(o.pid), "root", o.dir, name))
	if err != nil || string(got) != o.files[from] {
		o.Errorf("%s: %d bytes, want %d (%v)", name, len(got), len(o.files[from]), err)
	}
}

func (o *oddRun) times() {
	for _, name := range o.names {
		o.once(1, o.flags("", "-N", "-c"), "-o", o.dir+"/t-"+name, o.server.URL("/t/"+name))
		o.check("t-"+name, "/t/"+name)
	}
}

func (o *oddRun) tree() {
	o.once(len(o.names), o.flags("", "-N", "-N --delete", "-c"), "-r", "-d", o.dir+"/tree", o.server.URL("/t/"))
	for _, name := range o.names {
		o.check("tree/"+name, "/t/"+name)
	}
	left := must.Get(filepath.Glob(filepath.Join("/proc", fmt.Sprint(o.pid), "root", o.dir, "tree", ".ftpfetch-*")))(o.T)
	// Where a file is written after it is closed, one that is removed meanwhile may come back.
	left = slices.DeleteFunc(left, func(name string) bool { return o.late && strings.Contains(name, "/.ftpfetch-time-") })
	if len(left) > 1 {
		o.Errorf("these are left: %q", left)
	}
}

func (o *oddRun) big() {
	for i, flags := range []string{"", "-s 4", "-c", "-c -s 4"} {
		name := fmt.Sprint("big", i)
		o.cut.Store(true)
		args := append(strings.Fields(flags), "-q", "--retries", "0", "-o", o.dir+"/"+name, o.server.URL("/big"))
		if code, said := o.run(append([]string{o.command}, args...)...); code == 0 && !strings.Contains(flags, "-s") {
			o.Errorf("%q: a transfer that is cut ends with 0: %s", args, said)
		}
		o.cut.Store(false)
		o.once(0, o.flags("", "-N", "-c", "-s 4"), append(strings.Fields(flags), "-o", o.dir+"/"+name, o.server.URL("/big"))...)
		o.check(name, "/big")
	}
}

// leftover fetches a file of which a killed run has left a part, without a journal.
func (o *oddRun) leftover() {
	part := o.dir + "/left.ftpfetch.part"
	if code, said := o.run("sh", "-c", "printf left >"+part); code != 0 {
		o.Fatal(said)
	}
	o.once(1, o.flags("", "-N"), "-o", o.dir+"/left", o.server.URL("/t/plain"))
	o.check("left", "/t/plain")
}

// remembered fetches a tree into a directory that has a ledger already.
func (o *oddRun) remembered() {
	dir := o.dir + "/remembered"
	if code, said := o.run("sh", "-c", "mkdir "+dir+" && echo >"+dir+"/.ftpfetch-ledger"); code != 0 {
		o.Fatal(said)
	}
	o.once(len(o.names), o.flags("", "-N"), "-r", "-d", dir, o.server.URL("/t/"))
}

func (o *oddRun) long() {
	o.once(len(o.lengths()), []string{"", "-N"}, "-r", "-d", o.dir+"/n", o.server.URL("/n/"))
	for _, n := range o.lengths() {
		name := strings.Repeat("n", n)
		o.check("n/"+name, "/n/"+name)
	}
}
