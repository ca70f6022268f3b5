package ftpfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/testserver"
)

// Whatever happens to whichever command, every call returns, with the right bytes or a PathError, and the FS works
// afterwards.
func TestFSFaults(t *testing.T) {
	faults := map[string]testserver.Fault{
		"closed": {Before: testserver.Closed}, "reset": {Before: testserver.Reset}, "4yz": {Reply: "450 no"}, "5yz": {Reply: "550 no"},
		"unknown": {Reply: "500 no"}, "421": {Reply: "421 bye", After: testserver.Closed}, "nonsense": {Reply: "hello"}, "hangs": {Before: testserver.Stalled},
	}
	verbs := []string{"", "USER", "PASS", "PWD", "CWD", "MLST", "SIZE", "MDTM", "TYPE", "EPSV", "MLSD", "LIST", "REST", "RETR"}
	for name, fault := range faults {
		for _, verb := range verbs {
			t.Run(name+" at "+verb, func(t *testing.T) {
				t.Parallel()
				testFSFault(t, verb, fault)
			})
		}
	}
}

func testFSFault(t *testing.T, verb string, fault testserver.Fault) {
	var mu sync.Mutex
	var off bool
	cancel := func() {}
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "0123456789"}, Fault: func(p testserver.FaultPoint) testserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		if off || p.Verb != verb {
			return testserver.Fault{}
		}
		if fault.Before == testserver.Stalled {
			go cancel()
		}
		return fault
	}})
	ops := map[string]func(d *ftpfs.FS) error{
		"stat":    func(d *ftpfs.FS) error { _, err := d.Stat("f"); return err },
		"readdir": func(d *ftpfs.FS) error { _, err := d.ReadDir("."); return err },
		"read": func(d *ftpfs.FS) error {
			got, err := d.ReadFile("f")
			return right(string(got), "0123456789", err)
		},
		"seek": func(d *ftpfs.FS) error {
			f, err := d.Open("f")
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := f.(io.Seeker).Seek(3, io.SeekStart); err != nil {
				return err
			}
			got, err := io.ReadAll(f)
			return right(string(got), "3456789", err)
		},
	}
	for op, do := range ops {
		ctx, stop := context.WithCancel(t.Context())
		mu.Lock()
		off, cancel = false, stop
		mu.Unlock()
		c := new(ftpexec.Client)
		d, err := ftpfs.New(ctx, c, parse(t, s.URL("/d/")))
		if err != nil {
			t.Fatal(err)
		}
		if err := do(d); err != nil && !errors.As(err, new(*fs.PathError)) {
			t.Errorf("%s: got %v, want a PathError", op, err)
		} else if fault.Before == testserver.Stalled && err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want Canceled", op, err)
		}
		mu.Lock()
		off = true
		mu.Unlock()
		if ctx.Err() == nil {
			if err := do(d); err != nil {
				t.Errorf("%s afterwards: %v", op, err)
			}
		}
		stop()
		c.CloseIdleConnections()
	}
}

// right returns err, or an error of its own if got is not a beginning of want, or less without an error.
func right(got, want string, err error) error {
	if !strings.HasPrefix(want, got) || err == nil && got != want {
		return fmt.Errorf("got %q, %v, want %q", got, err, want)
	}
	return err
}
