//go:build interop && linux

package interop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// mounts are file systems in user space, whose directories fold names or do not, and the commands that mount them, as
// those of an odd disk.
var mounts = []struct {
	odd
	folds bool
}{
	{odd{name: "ntfs-3g with ignore_case", mount: "mkntfs -q -F -f $IMAGE; lowntfs-3g -o ignore_case,umask=022 $IMAGE $DIR"}, true},
	{odd{name: "ntfs-3g", mount: "mkntfs -q -F -f $IMAGE; ntfs-3g -o umask=022 $IMAGE $DIR"}, false},
	{odd{name: "exfat-fuse", mount: "mkfs.exfat $IMAGE; mount -t exfat-fuse -o loop,umask=022 $IMAGE $DIR"}, true},
	{odd{name: "rclone", mount: folding + "--vfs-cache-mode off --daemon :local:$LOWER $DIR", late: true}, true},
	{odd{name: "rclone with a cache", mount: folding + "--vfs-cache-mode writes --vfs-write-back 0 --cache-dir $TOP/cache --daemon :local:$LOWER $DIR"}, true},
	{odd{name: "bindfs over ntfs-3g", mount: ntfs + "bindfs $LOWER $DIR"}, true},
	{odd{name: "unionfs-fuse over ntfs-3g", mount: ntfs + "unionfs-fuse $LOWER=RW $DIR"}, true},
	{odd{name: "mergerfs over ntfs-3g", mount: ntfs + "mergerfs -o minfreespace=0 $LOWER $DIR"}, true},
	{odd{name: "fuse-posixovl over ntfs-3g", mount: ntfs + "mount.posixovl -S $LOWER $DIR"}, true},
	{odd{name: "sshfs over ntfs-3g", mount: ntfs + `printf '#!/bin/sh\nexec /usr/lib/openssh/sftp-server' >$TOP/ssh; chmod +x $TOP/ssh; sshfs -o ssh_command=$TOP/ssh x:$LOWER $DIR`}, true},
}

// Commands of several mounts.
const (
	folding = "rclone mount --config /dev/null --vfs-case-insensitive "
	ntfs    = "mkntfs -q -F -f $IMAGE; lowntfs-3g -o ignore_case,umask=022 $IMAGE $LOWER; "
)

// space is a mount namespace whose processes end with this one, however that ends.
type space struct {
	*testing.T
	pid int
}

func newSpace(t *testing.T) *space {
	keeper := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "cat")
	alive, err1 := keeper.StdinPipe()
	echo, err2 := keeper.StdoutPipe()
	must.Do(t, errors.Join(err1, err2, keeper.Start()))
	_, err1 = alive.Write([]byte{'.'})
	_, err2 = echo.Read(make([]byte, 1)) // now the process is in the namespace
	must.Do(t, errors.Join(err1, err2))
	t.Cleanup(func() {
		_ = alive.Close()
		_ = keeper.Wait()
	})
	return &space{t, keeper.Process.Pid}
}

// command returns a command that runs in the namespace.
func (s *space) command(args ...string) *exec.Cmd {
	pids := fmt.Sprintf("--pid=/proc/%d/ns/pid_for_children", s.pid)
	return exec.CommandContext(s.Context(), "nsenter", append([]string{"--mount", pids, "--target", fmt.Sprint(s.pid)}, args...)...)
}

// run runs a command in the namespace, and returns its exit code and what it said.
func (s *space) run(args ...string) (code int, said string) {
	cmd := s.command(args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		s.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// there returns the names and contents of the files below dir, sorted, without those of ftpfetch.
func (s *space) there(dir string) (files []string) {
	top := filepath.Join("/proc", fmt.Sprint(s.pid), "root", dir)
	must.Do(s, filepath.Walk(top, func(name string, info os.FileInfo, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != top: // as below
			return nil
		case strings.HasPrefix(filepath.Base(name), ".fuse_hidden"): // a file that is removed and still open
			return nil
		case err != nil || info.IsDir() || strings.HasPrefix(info.Name(), ".ftpfetch-"):
			return err
		}
		contents, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) { // sshfs lists it for some seconds more, under a path of other case
			return nil
		}
		files = append(files, strings.TrimPrefix(name, top+"/")+"="+string(contents))
		return err
	}))
	slices.Sort(files)
	return files
}

// TestFoldingMounts mirrors names that differ only in letter case, and names that change their case on the server, to
// mounts that take them for one and to one that does not. No file that the server has may be lost, and of two names that
// are one the second is refused.
func TestFoldingMounts(t *testing.T) {
	t.Parallel()
	command := build(t)
	for _, m := range mounts[:night.Or(5, len(mounts))] {
		t.Run(m.name, func(t *testing.T) {
			t.TempDir() // it is removed after the end of the mounts
			space := newSpace(t)
			dir := space.mountOdd(m.odd)
			server := afero.NewMemMapFs()
			s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(server), ModTime: modTime, Tree: map[string]string{
				"/two/README": "upper", "/two/readme": "lower", "/two/Sub/x": "1", "/two/sub/y": "2", "/two/other": "3",
				"/m/Data": "data", "/m/Sub/a": "a", "/m/Sub/b": "b", "/m/keep": "k", "/m/gone": "g", "/m/caf\u00c9": "e"}})
			check := func(what string, code, want int, said string, in string, files ...string) {
				t.Helper()
				got := space.there(filepath.Join(dir, in))
				if m.folds { // in which case it lists names does not matter
					files = strings.Split(strings.ToLower(strings.Join(files, "\n")), "\n")
					got = strings.Split(strings.ToLower(strings.Join(got, "\n")), "\n")
				}
				slices.Sort(files)
				slices.Sort(got)
				if code != want || !slices.Equal(got, files) {
					t.Errorf("%s: exit %d, want %d: %s; there is %q, want %q", what, code, want, said, got, files)
				}
			}
			two, all := []string{"README=upper", "Sub/x=1", "other=3"}, []string{"README=upper", "readme=lower", "Sub/x=1", "sub/y=2", "other=3"}
			want := 23
			if !m.folds {
				two = all
				want = 0
			}
			for _, flags := range []string{"-r", "-r -N", "-r -N --delete", "-r -N --delete --dry-run"} {
				args := append([]string{command, "-q", "-d", dir + "/two", s.URL("/two/")}, strings.Fields(flags)...)
				code, said := space.run(args...)
				check(flags, code, want, said, "two", two...)
				if want == 23 && !strings.Contains(said, "is another spelling of the name of another entry of the listing, and both are one file here") {
					t.Errorf("%s: %s", flags, said)
				}
			}
			list := filepath.Join(t.TempDir(), "list.tsv")
			must.Do(t, os.WriteFile(list, []byte("url\tpath\n"+s.URL("/two/README")+"\tREADME\n"+s.URL("/two/readme")+"\treadme\n"), 0o666))
			code, said := space.run(command, "-q", "-d", dir+"/list", "--manifest", list)
			check("a list", code, want, said, "list", slices.DeleteFunc(slices.Clone(two), func(f string) bool { return !strings.HasPrefix(strings.ToLower(f), "readme") })...)

			code, said = space.run(command, "-q", "-r", "-N", "-d", dir+"/m", s.URL("/m/"))
			check("a mirror", code, 0, said, "m", "Data=data", "Sub/a=a", "Sub/b=b", "keep=k", "gone=g", "caf\u00c9=e")
			for _, r := range [][2]string{{"Data", "data"}, {"Sub", "sub"}, {"caf\u00c9", "caf\u00e9"}} {
				must.Do(t, server.Rename("/m/"+r[0], "/m/"+r[1]))
			}
			must.Do(t, errors.Join(server.Remove("/m/sub/b"), server.Remove("/m/gone")))
			left := []string{"Data=data", "Sub/a=a", "keep=k", "caf\u00c9=e"}
			if !m.folds {
				left = []string{"data=data", "sub/a=a", "keep=k", "caf\u00e9=e"}
			}
			for range 2 {
				code, said = space.run(command, "-q", "-r", "-N", "--delete", "-d", dir+"/m", s.URL("/m/"))
				if m.late && code != 0 { // it has lost the ledger, so nothing may be deleted
					check("--delete without a ledger", code, 23, said, "m", append(slices.Clone(left), "Sub/b=b", "gone=g")...)
					continue
				}
				check("--delete", code, 0, said, "m", left...)
			}
		})
	}
}
