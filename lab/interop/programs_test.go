//go:build interop

package interop

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// programTree has what the programs of examples/programs read.
func programTree(t *testing.T) *Tree {
	t.Helper()
	var packed, archive bytes.Buffer
	w := gzip.NewWriter(&packed)
	must.Get(w.Write([]byte("unpacked\n")))(t)
	must.Do(t, w.Close())
	z := zip.NewWriter(&archive)
	for i := range 50 {
		member := must.Get(z.Create(fmt.Sprintf("dir/%02d", i)))(t)
		must.Get(fmt.Fprintf(member, "member %d\n", i))(t)
	}
	must.Do(t, z.Close())
	return plantTree(t, map[string]string{
		"files/a": "one\n", "files/b": "two\n", "packed.gz": packed.String(), "x.zip": archive.String(),
		"large": strings.Repeat("0123456789abcdef", 1<<16),
	})
}

// TestPrograms runs programs that others could have written, those of examples/programs, on real servers.
func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../examples/programs", "-o", dir, "./...").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files := programTree(t)
	for _, kind := range []Kind{Vsftpd, Proftpd, Pyftpdlib} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p := programs{T: t, dir: dir, s: New(t, kind, files, Options{})}
			p.runs()
			p.fetchesList()
			p.servesRanges()
		})
	}
}

// programs are the programs, and the server that they use.
type programs struct {
	*testing.T
	dir string
	s   *Server
}

func (p *programs) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, name), args...)
	cmd.Dir = p.TempDir()
	return cmd
}

// runs runs the programs that print something.
func (p *programs) runs() {
	for _, tt := range []struct{ line, out, err string }{
		{"gunzip /packed.gz", "unpacked\n", ""},
		{"unzip /x.zip dir/07 dir/31", "member 7\nmember 31\n", ""},
		{"logged /files/a /files/b", "", `"connections":1,"logins":1`},
		{"spans /files/a", "one\n", `"Name":"ftp RETR"`},
		{"resume /large", "", "1048576 bytes, 0 of them from earlier calls"},
	} {
		args := strings.Fields(tt.line)
		for i, arg := range args {
			if strings.HasPrefix(arg, "/") {
				args[i] = p.s.URL(arg)
			}
		}
		var stdout, stderr strings.Builder
		cmd := p.command(p.Context(), args[0], args[1:]...)
		cmd.Stdout = &stdout
		cmd.Stderr = &stderr
		err := cmd.Run()
		if err != nil || !strings.Contains(stdout.String(), tt.out) || !strings.Contains(stderr.String(), tt.err) {
			p.Errorf("%s: %v, %.300q, %.2000q", tt.line, err, &stdout, &stderr)
		}
	}
}

// fetchesList saves the files of a list twice; the second run transfers nothing.
func (p *programs) fetchesList() {
	dir := p.TempDir()
	list := filepath.Join(dir, "SHA256SUMS")
	must.Do(p, os.WriteFile(list, fmt.Appendf(nil, "%x  a\n%x  b\n", sha256.Sum256([]byte("one\n")), sha256.Sum256([]byte("two\n"))), 0o644))
	for range 2 {
		out, err := p.command(p.Context(), "fetchlist", list, p.s.URL("/files/"), filepath.Join(dir, "saved")).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("2 of 2 files complete")) {
			p.Errorf("fetchlist: %v, %s", err, out)
		}
	}
}

// servesRanges sends 200 requests for ranges of a file at once to fileserver, which has eight connections.
func (p *programs) servesRanges() {
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(p)
	address := free.Addr().String()
	must.Do(p, free.Close())
	ctx, stop := context.WithCancel(p.Context())
	cmd := p.command(ctx, "fileserver", p.s.URL("/"), address)
	must.Do(p, cmd.Start())
	defer cmd.Wait() //nolint:errcheck // it is killed
	defer stop()
	for { // until it listens
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			break
		}
		if cmd.ProcessState != nil || p.Context().Err() != nil {
			p.Fatal(err)
		}
	}
	const size, requests = 1 << 20, 200
	large := strings.Repeat("0123456789abcdef", size/16)
	failed := make([]error, requests)
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() {
			from := i * (size / requests)
			got, err := part("http://"+address+"/large", from, from+4095)
			if err == nil && got != large[from:from+4096] {
				err = fmt.Errorf("wrong bytes from %d", from)
			}
			failed[i] = err
		})
	}
	all.Wait()
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) > 0 {
		p.Errorf("%d of %d requests: %v", len(failed), requests, failed[0])
	}
}

// part returns the bytes of a range.
func part(url string, from, last int) (string, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, last))
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusPartialContent {
		return "", fmt.Errorf("%s", r.Status)
	}
	text, err := io.ReadAll(r.Body)
	return string(text), err
}
