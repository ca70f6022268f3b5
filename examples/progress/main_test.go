package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDemo(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "\r3000000 of 3000000 bytes, 100%\nsaved as ") {
		t.Errorf("got %q", got)
	}
}

// TestInterrupted: what Ctrl-C has stopped is resumed.
func TestInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	contents := strings.Repeat("0123456789", 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	s := testserver.New(t, &testserver.Options{
		Tree: map[string]string{"/pub/file": contents},
		Fault: func(p testserver.FaultPoint) testserver.Fault {
			if p.Transfer == 1 {
				return testserver.Fault{Data: testserver.Stalled, Octets: 5 << 20}
			}
			return testserver.Fault{}
		},
	})
	progress := writer(func(text string) {
		if strings.HasPrefix(text, "\r5242880 of ") { // all that comes
			cancel()
		}
	})
	err := run(ctx, progress, []string{s.URL("/pub/file")})
	if want := "interrupted: 5242880 bytes are kept for the next run"; err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}

	var out bytes.Buffer
	if err := run(t.Context(), &out, []string{s.URL("/pub/file")}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile("file"); err != nil || string(got) != contents {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if want := "REST 5242368"; !strings.Contains(strings.Join(s.Commands(), "\n"), want) {
		t.Errorf("no %s in %q", want, s.Commands())
	}
	if names, err := filepath.Glob("*"); err != nil || len(names) != 1 {
		t.Errorf("files: %q, %v", names, err)
	}
}

type writer func(text string)

func (w writer) Write(b []byte) (int, error) {
	w(string(b))
	return len(b), nil
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ftp://host/a b"}, "write %20"},
		{[]string{"ftp://host/pub/"}, "names no file"},
		{[]string{"ftp://host/a", "ftp://host/b"}, "write: progress URL"},
	} {
		if err := run(t.Context(), &bytes.Buffer{}, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.args, err, tt.want)
		}
	}
}
