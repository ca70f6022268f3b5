package ftpfs_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestFSIgnoredREST reads a file in several orders where some servers behind a name accept REST and ignore it. No call
// returns wrong bytes.
func TestFSIgnoredREST(t *testing.T) {
	contents := strings.Repeat("0123456789abcdefghijklm", 60_000)
	facts := mlst("Type=file;Modify=20200102030405;Size=1380000")
	n, refused := 0, 0
	for k := 1; k <= 3; k++ {
		for _, places := range [][]int{{1000}, {0, 700_000}, {700_000, 0}, {1_379_990, 5}, {300_000, 900_000, 1_379_000}} {
			for _, seeks := range []bool{false, true} {
				n++
				script := []testserver.Step{ftptest.Restarts(contents, nil).With("MLST", facts)}
				for conn := k; conn < 20; conn += k {
					script = append(script, testserver.OnConn(conn, ftptest.Restarts(contents, ftptest.IgnoresREST).With("MLST", facts)))
				}
				s := testserver.New(t, nil, script...)
				c := new(ftpexec.Client)
				f := open(t, openFS(t, c, s.URL("/d/")), "f")
				var err error
				for _, at := range places {
					b := make([]byte, 10)
					got := 0
					if seeks {
						_, err = f.Seek(int64(at), io.SeekStart)
						if err == nil {
							got, err = io.ReadFull(f, b)
						}
					} else {
						got, err = f.ReadAt(b, int64(at))
					}
					if string(b[:got]) != contents[at:at+got] || err == nil && got < 10 {
						t.Errorf("%d, seeks %v, REST ignored on every connection of %d: got %q, %v", at, seeks, k, b[:got], err)
					}
					if err != nil {
						break
					}
				}
				if err != nil {
					refused++
					if !errors.Is(err, ftpexec.ErrNoRestart) {
						t.Errorf("%v, seeks %v: %v, want ErrNoRestart", places, seeks, err)
					}
				}
				f.Close()
				c.CloseIdleConnections()
				s.Close()
			}
		}
	}
	t.Logf("%d orders, %d refused", n, refused)
}
