package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

const (
	mib       = 1 << 20
	paceBytes = 10 * mib // per second and connection
)

// paced is a file system of zeros. The name of a file begins with its size, and its bytes are sent in steps.
type paced struct{}

// pacedFile is an open file of paced.
type pacedFile struct {
	name       string
	size, done int64
	begun      time.Time
}

func (paced) Open(name string) (fs.File, error) {
	f := &pacedFile{name: path.Base(name), begun: time.Now()}
	if n, _ := fmt.Sscanf(f.name, "%d-", &f.size); n == 0 && !f.IsDir() {
		return nil, fs.ErrNotExist
	}
	return f, nil
}

func (f *pacedFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *pacedFile) Close() error               { return nil }
func (f *pacedFile) Name() string               { return f.name }
func (f *pacedFile) Size() int64                { return f.size }
func (f *pacedFile) ModTime() time.Time         { return time.Unix(1e9, 0) }
func (f *pacedFile) IsDir() bool                { return f.name == "." || f.name == "/" }
func (f *pacedFile) Sys() any                   { return nil }

func (f *pacedFile) Mode() fs.FileMode {
	if f.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

func (f *pacedFile) Seek(to int64, _ int) (int64, error) { // only from the start
	f.done = to
	return to, nil
}

func (f *pacedFile) Read(p []byte) (int, error) {
	n := int(min(int64(len(p)), f.size-f.done))
	if n == 0 {
		return 0, io.EOF
	}
	clear(p[:n])
	f.done += int64(n)
	due := f.begun.Add(time.Duration(f.done) * time.Second / paceBytes)
	if ahead := time.Until(due); ahead > 5*time.Millisecond {
		<-time.After(ahead)
	}
	return n, nil
}

// nowhere implements as much of S3 as is needed to discard objects.
func nowhere(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(n)))
	switch {
	case r.Method == http.MethodHead:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		fmt.Fprint(w, "<ListBucketResult></ListBucketResult>")
	case r.Method == http.MethodPost && r.URL.Query().Has("uploads"):
		fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
	case r.Method == http.MethodPost:
		fmt.Fprint(w, "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>")
	}
}

// BenchmarkFill has four workers with two lanes fetch 200 files of 50 MiB, and then 6,000 of 4 KiB, into a store. A
// connection delivers 10 MiB a second, so the ideal is known: all lanes have large files until the end.
//
//	go test -run '^$' -bench Fill -benchtime 1x
func BenchmarkFill(b *testing.B) {
	const lanes = 8
	sink := httptest.NewServer(http.HandlerFunc(nowhere))
	defer sink.Close()
	srv := must.Get(testserver.Start(&testserver.Options{FS: paced{}}))(b)
	defer srv.Close()
	for _, of := range []struct {
		files int
		size  int64
	}{{number("FLEET_LARGE", 200), 50 * mib}, {6000, 4 << 10}} {
		for _, sized := range []bool{true, false} {
			dir := b.TempDir()
			join := filepath.Join(dir, "join")
			processWith(b, []string{"FLEET_REAL=1"}, "serve", "--dir", filepath.Join(dir, "state"), "--join", join, "--listen", "127.0.0.1:0")
			eventually(b, "a server", func() bool { _, err := os.Stat(join); return err == nil })
			var list bytes.Buffer
			for i := range of.files {
				name := fmt.Sprintf("%d-%d", of.size, i)
				row := listed{URLs: []string{srv.URL("/" + name)}, Path: name}
				if sized {
					row.Size = &of.size
				}
				list.Write(printable.JSON(row))
			}
			name := filepath.Join(dir, "list.ndjson")
			must.Do(b, os.WriteFile(name, list.Bytes(), 0o600))
			to := "s3://bucket?region=x&use_path_style=true&endpoint=" + sink.URL
			for i := range 4 {
				processWith(b, []string{"FLEET_REAL=1"}, "work", "--join", join, "--to", to, "-j", "2", "--egress", "e", "--name", fmt.Sprint("w", i))
			}
			l := &large{TB: b, join: join}
			begun := time.Now()
			id := l.ask("add", "--per-host", fmt.Sprint(lanes), name)
			if got := l.ask("wait", id, "--json"); !strings.Contains(got, fmt.Sprintf(`"complete":%d`, of.files)) {
				b.Error(got)
			}
			ideal := float64(of.files) * float64(of.size) / paceBytes / lanes
			b.Logf("%d files of %d bytes, sizes known %v: %.1f s, ideal %.1f s", of.files, of.size, sized, time.Since(begun).Seconds(), ideal)
		}
	}
}
