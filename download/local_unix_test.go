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
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestPlaces tries every kind of target that a path can name. A local obstacle must end the run before it connects.
func TestPlaces(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("file", "")
	elsewhere := t.TempDir()
	must.Do(t, errors.Join(os.Symlink(k.dir, k.path("link")), os.Symlink(elsewhere+"/aim", k.path("dangling")), os.Symlink(elsewhere+"/aim", k.path("l.ftpfetch.part"))))
	for _, tt := range []struct {
		path string
		err  error
		text string
	}{
		{"", localfile.ErrName, "no file name given"},
		{k.dir, localfile.ErrName, ": is a directory"},
		{k.dir + "/..", localfile.ErrName, ": is a directory"},
		{k.dir + "/", localfile.ErrName, ": names a directory, not a file"},
		{k.path("link"), localfile.ErrName, ": is a directory"},
		{os.DevNull, localfile.ErrName, ": is not a regular file"},
		{k.path("none/f"), os.ErrNotExist, k.path("none") + ": no such directory (create it first)"},
		{k.path("none/d/f"), os.ErrNotExist, k.path("none/d") + ": no such directory (create it first)"},
		{k.path("file/f"), syscall.ENOTDIR, k.path("file") + ": not a directory"},
		{k.path(strings.Repeat("n", 256)), syscall.ENAMETOOLONG, "file name too long"},
		{k.path("l"), ErrLocal, k.path("l.ftpfetch.part") + ": is in the way, and is not a regular file: remove it, or choose another place"},
	} {
		_, err := File(t.Context(), k.c, k.url("/f"), tt.path, &Options{Existing: Overwrite})
		if !errors.Is(err, tt.err) || !errors.Is(err, ErrLocal) || !strings.HasSuffix(err.Error(), tt.text) {
			t.Errorf("%.80q: got %v, want %v with %q", tt.path, err, tt.err, tt.text)
		}
	}
	if sent := k.Commands(); len(sent) > 0 {
		t.Errorf("sent %q", sent)
	}
	wantNames(t, elsewhere)
	wantNames(t, k.dir, "dangling", "file", "l.ftpfetch.part", "link")
}

// TestLinks checks that a run examines the file that a symbolic link points to, but replaces the link itself.
func TestLinks(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	elsewhere := t.TempDir()
	mustWrite(t, elsewhere+"/aim", "precious")
	for _, aim := range []string{"/aim", "/nowhere"} {
		must.Do(t, os.Symlink(elsewhere+aim, k.path("f")))
		if _, err := k.get("/f", Options{}); !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: got %v", aim, err)
		}
		if _, err := k.get("/f", Options{Existing: Continue}); !errors.Is(err, ErrResume) {
			t.Errorf("%s, continued: got %v", aim, err)
		}
		if _, err := k.get("/f", Options{Existing: Overwrite}); err != nil {
			t.Errorf("%s: got %v", aim, err)
		}
		k.want(map[string]string{"f": body})
		k.remove("f")
	}
	wantFiles(t, elsewhere, map[string]string{"aim": "precious"})
}

// TestToFIFO checks that a FIFO gets the bytes as they arrive, even after a failure and a retry.
func TestToFIFO(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	must.Do(t, syscall.Mkfifo(k.path("f"), 0o600))
	k.faulty(cut(1, 100_000))
	got := make(chan string)
	go func() { b, _ := os.ReadFile(k.path("f")); got <- string(b) }()
	fifo := must.Get(os.OpenFile(k.path("f"), os.O_WRONLY, 0))(t)
	must.Get(To(t.Context(), k.c, k.url("/f"), fifo, nil))(t)
	must.Do(t, fifo.Close())
	if <-got != body {
		t.Error("the reader got something else")
	}
}

// TestFileMode checks that a new file has the mode that umask allows, or the mode of the file that it replaces.
func TestFileMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	k := newKit(t, map[string]string{"/f": body})
	for _, want := range []os.FileMode{0o640, 0o600, 0} {
		if k.exists("f") {
			k.chmod("f", want)
		}
		must.Get(k.get("/f", Options{Existing: Overwrite}))(t)
		if info, err := os.Stat(k.path("f")); err != nil || info.Mode() != want {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, want)
		}
	}
}

// TestFilePartOfOthers checks that a run trusts no bytes that another user left in a directory that both can write to.
func TestFilePartOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range []string{"f.ftpfetch.part", "f.ftpfetch.json"} {
		k := newKit(t, map[string]string{"/f": body})
		k.leaves("/f", 1000)
		must.Do(t, os.Chown(k.path(name), 65534, 65534))
		for _, o := range []Options{{}, {Existing: Continue}, {Existing: Overwrite}} {
			if _, err := k.get("/f", o); !errors.Is(err, ErrLocal) || !strings.Contains(err.Error(), "belongs to another user") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		wantNames(t, k.dir, k.json, k.part)
	}
}

// TestFilePartOfOthersWithoutLocks puts a part of another user in the way, in a directory that both can write to, on a
// system without locks. Each run must then use a part of its own, leave nothing of it, and not touch the other user's
// part.
func TestFilePartOfOthersWithoutLocks(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	k := newKit(t, map[string]string{"/f": body})
	theirs := map[string]string{k.part: "their bytes", k.json: "their journal"}
	for name, text := range theirs {
		k.write(name, text)
		must.Do(t, os.Chown(k.path(name), 65534, 65534))
	}
	parts := map[string]bool{}
	onCall(t, func(call, path string) error {
		if name := filepath.Base(path); strings.HasSuffix(name, ".ftpfetch.part") && name != k.part {
			parts[name] = true
		}
		if call == "flock" {
			return errors.ErrUnsupported
		}
		return nil
	})
	k.faulty(cut(1, 1000))
	if _, err := k.get("/f", Options{Retries: -1}); err == nil || errors.Is(err, ErrLocal) {
		t.Errorf("cut: got %v", err)
	}
	k.want(theirs)
	k.faulty(nil)
	if _, err := k.get("/f", Options{}); err != nil {
		t.Error(err)
	}
	theirs["f"] = body
	k.want(theirs)
	if len(parts) != 2 {
		t.Errorf("two runs had the parts %v", parts)
	}
}

// TestLocalErrorText checks that a message shows only the reason, and that the error still matches its causes, however
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
			got := localfile.Failure("/d/f.ftpfetch.part", "cannot be written", err)
			if want := "/d/f.ftpfetch.part: cannot be written: " + errno.Error(); got.Error() != want {
				t.Errorf("%v: got %q, want %q", err, got, want)
			}
			if !errors.Is(got, errno) || !errors.Is(got, ErrLocal) || errors.As(err, new(*fs.PathError)) != errors.As(got, new(*fs.PathError)) {
				t.Errorf("%v: a cause is lost", got)
			}
		}
	}
}

// TestFileFullDisk fills a small file system, with bytes that the kernel copies from the socket and with bytes from a
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

// TestFileSizeLimit exceeds the process's limit on the size of a file.
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

// TestContinueOthers checks that Continue does not change another user's target.
func TestContinueOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", body[:1000])
	must.Do(t, os.Chown(k.path("f"), 65534, 65534))
	if _, err := k.get("/f", Options{Existing: Continue}); !errors.Is(err, ErrResume) {
		t.Errorf("another user's: got %v, want ErrResume", err)
	}
	k.want(map[string]string{"f": body[:1000]})
}
