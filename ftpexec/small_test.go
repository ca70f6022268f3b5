package ftpexec_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jlaffaye/ftp"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// serves is the variable that makes the test program a server, in place of the tests.
const serves = "FTPEXEC_TEST_SERVES"

// serve serves a tree until standard input ends. It prints the address.
func serve() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"pub/f": strings.Repeat("x", 4096)}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = s.Close()
}

// apart starts a server in another process, whose allocations do not count here, and returns its address.
func apart(t *testing.T) string {
	server := exec.CommandContext(t.Context(), must.Get(os.Executable())(t))
	server.Env = append(os.Environ(), serves+"=1")
	server.Stderr = os.Stderr
	stdin := must.Get(server.StdinPipe())(t)
	stdout := must.Get(server.StdoutPipe())(t)
	must.Do(t, server.Start())
	t.Cleanup(func() {
		stdin.Close()
		_ = server.Wait() // the end of the test may have killed it
	})
	return strings.TrimSpace(must.Get(bufio.NewReader(stdout).ReadString('\n'))(t))
}

// TestSmallFileBesideLibrary counts the allocations for a small file on a connection that is kept, beside those of
// jlaffaye/ftp alone, which asks for neither size nor time and can neither be interrupted nor time out. Half of either
// are package net's.
func TestSmallFileBesideLibrary(t *testing.T) {
	addr := apart(t)
	library := must.Get(ftp.Dial(addr))(t)
	must.Do(t, library.Login("anonymous", "anonymous"))
	beside := testing.AllocsPerRun(200, func() {
		r := must.Get(library.Retr("pub/f"))(t)
		drained(t, r)
	})
	must.Do(t, library.Quit())
	c := new(ftpexec.Client)
	defer c.CloseIdleConnections()
	for _, tt := range []struct {
		what string
		ctx  context.Context
		most float64 // times as many as the library
	}{
		{"no end", context.Background(), 1.8},
		{"a context that may end", t.Context(), 2},
	} {
		get := func() { drained(t, must.Get(c.Get(tt.ctx, "ftp://"+addr+"/pub/f"))(t).Body) }
		get() // which opens the connection
		got := testing.AllocsPerRun(200, get)
		t.Logf("%s: %v allocations a file, the library alone %v", tt.what, got, beside)
		if got > tt.most*beside {
			t.Errorf("%s: %v allocations, more than %v times the %v of the library", tt.what, got, tt.most, beside)
		}
	}
}

func drained(t *testing.T, body io.ReadCloser) {
	if n, err := io.Copy(io.Discard, body); n != 4096 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	must.Do(t, body.Close())
}
