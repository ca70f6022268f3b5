//go:build unix

package download

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/disk"
	"example.com/ftpfetch/internal/rules/must"
)

// TestLocalErrorText checks that a message shows the reason alone, and that the error keeps its causes, in whatever way
// package os wraps them.
func TestLocalErrorText(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EFBIG, syscall.EROFS, syscall.EACCES, syscall.ESTALE} {
		for _, err := range []error{
			errno,
			os.NewSyscallError("splice", errno),
			&fs.PathError{Op: "write", Path: "/d/f.ftpfetch.part", Err: errno},
			&fs.PathError{Op: "write", Path: "/d/f.ftpfetch.part", Err: os.NewSyscallError("splice", errno)},
			&fs.PathError{Op: "write", Path: "/d/f.ftpfetch.part", Err: os.NewSyscallError("copy_file_range", errno)},
			&os.LinkError{Op: "rename", Old: "/d/f.ftpfetch.part", New: "/d/f", Err: errno},
			fmt.Errorf("while writing: %w", &fs.PathError{Op: "write", Path: "/d/f.ftpfetch.part", Err: os.NewSyscallError("splice", errno)}),
		} {
			got := disk.Failure("/d/f.ftpfetch.part", "cannot be written", err)
			if want := "/d/f.ftpfetch.part: cannot be written: " + errno.Error(); got.Error() != want {
				t.Errorf("%v: got %q, want %q", err, got, want)
			}
			if !errors.Is(got, errno) || !errors.Is(got, ErrLocal) || errors.As(err, new(*fs.PathError)) != errors.As(got, new(*fs.PathError)) {
				t.Errorf("%v: a cause is lost", got)
			}
		}
	}
}

// TestFileFullDisk fills a small file system, with bytes that reach the file straight from the socket and through a
// buffer.
func TestFileFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := mountSmall(dir, "256k"); err != nil {
		t.Log("no small file system here: ", err)
		return
	}
	defer unmount(t, dir)
	k := newKit(t, map[string]string{"/f": noise(3<<20, 5)})
	k.dir = dir
	for name, o := range map[string]Options{
		"straight": {}, "buffered": {Sum: digest.Sum{Algorithm: "md5", Digest: make([]byte, 16)}}, "two connections": {Segments: 2},
	} {
		_, err := k.get("/f", o)
		if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, ErrLocal) || len(k.waits) > 0 {
			t.Errorf("%s: got %v, want ENOSPC at once", name, err)
		}
		if want := k.path("f.ftpfetch.part") + ": cannot be written: no space left on device"; err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		if k.exists("f") {
			t.Errorf("%s: a file is there", name)
		}
		for _, left := range []string{"f.ftpfetch.part", "f.ftpfetch.json"} {
			os.Remove(k.path(left))
		}
	}
}

// TestFileSizeLimit lets a process exceed its limit on the size of a file.
func TestFileSizeLimit(t *testing.T) {
	k := newKit(t, map[string]string{"/f": noise(3<<20, 5)})
	for _, straight := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "f")
		order := must.Get(json.Marshal(killOrder{URL: k.URL("/f"), Path: path, Straight: straight}))(t)
		child := exec.Command("sh", "-c", `ulimit -f 100; exec "$0"`, os.Args[0])
		child.Env = append(os.Environ(), killChild+"="+string(order))
		var said bytes.Buffer
		child.Stderr = &said
		if err := child.Run(); err == nil || said.String() != path+".ftpfetch.part: cannot be written: file too large\n" {
			t.Errorf("straight %v: %v, %q", straight, err, &said)
		}
	}
}
