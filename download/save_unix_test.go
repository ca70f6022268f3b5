//go:build unix

package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestSaveMode(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "f")
	wantMode := func(want os.FileMode) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("mode %v (%v), want %v", info.Mode(), err, want)
		}
	}
	if _, err := saveText(path, "x", Refuse); err != nil {
		t.Fatal(err)
	}
	wantMode(0o640)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := saveText(path, "y", Overwrite); err != nil {
		t.Fatal(err)
	}
	wantMode(0o600)
}

func TestSaveThroughLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	aim, link := filepath.Join(elsewhere, "aim"), filepath.Join(dir, "f")
	mustWrite(t, aim, "precious")
	if err := os.Symlink(aim, link); err != nil {
		t.Fatal(err)
	}
	if _, err := saveText(link, "new", Refuse); !errors.Is(err, fs.ErrExist) {
		t.Errorf("link to a file: %v, want fs.ErrExist", err)
	}
	if _, err := saveText(link, "new", Overwrite); err != nil {
		t.Error(err)
	}
	wantFiles(t, elsewhere, map[string]string{"aim": "precious"})
	wantFiles(t, dir, map[string]string{"f": "new"})
}

func TestSaveDanglingLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	link := filepath.Join(dir, "f")
	for _, name := range []string{link, link + ".part"} {
		if err := os.Symlink(filepath.Join(elsewhere, "aim"), name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := saveText(link, "new", Refuse); !errors.Is(err, fs.ErrExist) {
		t.Errorf("dangling link: %v, want fs.ErrExist", err)
	}
	if _, err := saveText(link, "new", Overwrite); !errors.Is(err, ErrLocal) {
		t.Errorf("link as the part: %v, want ErrLocal", err)
	}
	wantFiles(t, elsewhere, nil)
}

func TestSaveToDevice(t *testing.T) {
	r, err := saveText(os.DevNull, "12345", Refuse)
	if err != nil || r.Size != 5 {
		t.Errorf("got %+v, %v", r, err)
	}
	info, err := os.Stat(os.DevNull)
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("%s is %v, %v", os.DevNull, info, err)
	}
}

func TestSaveToFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		data, _ := os.ReadFile(fifo)
		read <- string(data)
	}()
	if _, err := saveText(fifo, "through", Refuse); err != nil {
		t.Error(err)
	}
	if got := <-read; got != "through" {
		t.Errorf("read %q", got)
	}
}

// TestSaveFullDisk needs a device that is always full.
func TestSaveFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		return
	}
	_, err := saveText("/dev/full", "x", Refuse)
	if !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, ErrLocal) {
		t.Errorf("got %v, want ENOSPC as ErrLocal", err)
	}
}
