package batch_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"example.com/ftpfetch/download/batch"
)

// TestReportFull checks that no error of writing is lost.
func TestReportFull(t *testing.T) {
	for _, head := range []string{"", "head"} {
		r, err := batch.CreateReport("/dev/full", head)
		if err != nil {
			t.Fatal(err)
		}
		for line := range 3 {
			if err := r.Write(3-line, "", []byte("x\n")); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("row %d: %v", line, err)
			}
		}
		if err := r.Close(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Close: %v", err)
		}
	}
}

// TestReportPipe checks that a pipe is not replaced by a file, and that an
// existing file beside the report is left alone.
func TestReportPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	path := filepath.Join(t.TempDir(), "report")
	if err := os.Symlink(fmt.Sprint("/proc/self/fd/", w.Fd()), path); err != nil {
		t.Fatal(err)
	}
	report, err := batch.CreateReport(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []int{2, 1} {
		if err := report.Write(line, "", fmt.Appendf(nil, "%d\n", line)); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 4)
	if err := report.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "2\n1\n" {
		t.Errorf("read %q, %v", got, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 || left[0].Type() != fs.ModeSymlink {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
