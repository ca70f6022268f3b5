package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"gocloud.dev/blob"

	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// store is an S3 server that counts the requests.
type store struct {
	*httptest.Server
	backend               *s3mem.Backend
	begun, ended, aborted atomic.Int64 // multipart uploads
	parts                 atomic.Int64
	refuse                atomic.Pointer[func(*http.Request) bool]
}

func newStore(t *testing.T) *store {
	s := &store{backend: s3mem.New()}
	must.Do(t, s.backend.CreateBucket("bucket"))
	fake := gofakes3.New(s.backend).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse := s.refuse.Load(); refuse != nil && (*refuse)(r) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		query := r.URL.Query()
		switch {
		case r.Method == http.MethodPost && query.Has("uploads"):
			s.begun.Add(1)
		case r.Method == http.MethodPost:
			s.ended.Add(1)
		case r.Method == http.MethodDelete && query.Has("uploadId"):
			s.aborted.Add(1)
		case r.Method == http.MethodPut && query.Has("uploadId"):
			s.parts.Add(1)
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// at returns the URL of a bucket, or of a prefix in it.
func (s *store) at(path string) string {
	return "s3://" + path + "?region=us-east-1&use_path_style=true&endpoint=" + s.URL
}

// objects returns the objects in a bucket.
func objects(t *testing.T, url string) map[string]*blob.Attributes {
	t.Helper()
	b := must.Get(blob.OpenBucket(t.Context(), url))(t)
	defer b.Close()
	found := make(map[string]*blob.Attributes)
	for all := b.List(nil); ; {
		o, err := all.Next(t.Context())
		if err == io.EOF {
			return found
		}
		must.Do(t, err)
		a := must.Get(b.Attributes(t.Context(), o.Key))(t)
		text := must.Get(b.ReadAll(t.Context(), o.Key))(t)
		a.Metadata["contents"] = fmt.Sprintf("%x", sha256.Sum256(text))
		found[o.Key] = a
	}
}

// sinkFile is a file of a list for a sink.
type sinkFile struct {
	path, contents, sum string
	sized               bool
}

func (f sinkFile) sha256() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(f.contents))) }

// sinkList serves files, and writes a list of them.
func sinkList(t *testing.T, o testserver.Options, files ...sinkFile) (srv *ftpServer, list string) {
	o.Tree = make(map[string]string)
	for _, f := range files {
		if f.path != "none" {
			o.Tree["/s/"+f.path] = f.contents
		}
	}
	srv = newFTP(t, 0, 9, o)
	var text bytes.Buffer
	for _, f := range files {
		row := listed{URLs: []string{srv.URL("/s/" + f.path)}, Path: f.path, Checksum: f.sum}
		if f.sized {
			row.Size = new(int64(len(f.contents)))
		}
		text.Write(printable.JSON(row))
	}
	list = filepath.Join(t.TempDir(), "list.ndjson")
	must.Do(t, os.WriteFile(list, text.Bytes(), 0o600))
	return srv, list
}

// fetched returns the names of the files that commands retrieve. On a busy machine a lane may lose its slot, and fetch a
// file again.
func fetched(commands []string) map[string]bool {
	names := make(map[string]bool)
	for _, line := range commands {
		if name, ok := strings.CutPrefix(line, "RETR "); ok {
			names[name] = true
		}
	}
	return names
}

// statuses returns the rows of a report by their paths, without the prefix where.
func (s *stand) statuses(where, id string) map[string]report.Row {
	s.Helper()
	rows := make(map[string]report.Row)
	for line := range strings.Lines(s.want(0, "report", id)) {
		var row report.Row
		must.Do(s.T, json.Unmarshal([]byte(line), &row))
		path, ok := strings.CutPrefix(row.Path, where)
		if _, twice := rows[path]; twice || !ok {
			s.Errorf("a row too many, or elsewhere: %s", line)
		}
		rows[path] = row
	}
	return rows
}

// working starts a worker, and returns the function that ends it.
func (s *stand) working(args ...string) (end func()) {
	ctx, stop := context.WithCancel(s.Context())
	ended := make(chan int, 1)
	go func() {
		args := append([]string{"work", "--join", s.file}, args...)
		ended <- execute(ctx, args, &command{out: s.Output(), err: s.Output()})
	}()
	return func() {
		s.Helper()
		stop()
		if code := <-ended; code != 0 {
			s.Errorf("the worker ends with %d", code)
		}
	}
}

// checkStored checks that exactly the files that can be fetched are stored as objects.
func checkStored(t *testing.T, files []sinkFile, rows map[string]report.Row, found map[string]*blob.Attributes, prefix string) {
	t.Helper()
	for _, f := range files {
		o, row := found[prefix+f.path], rows[f.path]
		if f.path == "none" || strings.Contains(f.path, "wrong") {
			if o != nil || row.Status != "failed" {
				t.Errorf("%s: %+v, %+v", f.path, o, row)
			}
			continue
		}
		sum := f.sum
		if sum == "" {
			sum = "sha256:" + f.sha256()
		}
		if row.Status != "complete" || row.Sum != sum {
			t.Errorf("%s: %+v", f.path, row)
		}
		if f.path == "unknown-size" { // too large to hold back until the digest is known
			sum = ":"
		}
		if o == nil || o.Metadata["contents"] != f.sha256() || o.Metadata["algorithm"]+":"+o.Metadata["digest"] != sum {
			t.Errorf("%s: %+v", f.path, o)
		}
	}
	if len(found) != 5 {
		t.Errorf("the store has %d objects", len(found))
	}
}

// TestSink has files fetched into stores. A store must have exactly the files whose digest is right, complete and with
// their digest. The list is then added again in every way.
func TestSink(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789abcdef", 20<<16) // 20 MiB
	files := []sinkFile{
		{path: "a/small", contents: "small"},
		{path: "sized", contents: "sized", sized: true, sum: fmt.Sprintf("md5:%x", md5.Sum([]byte("sized")))},
		{path: "large", contents: large, sized: true, sum: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(large)))},
		{path: "unknown-size", contents: large[:5<<20]},
		{path: "empty"},
		{path: "wrong", contents: "wrong", sum: fmt.Sprintf("sha256:%x", sha256.Sum256(nil))},
		{path: "large-and-wrong", contents: large, sized: true, sum: fmt.Sprintf("sha256:%x", sha256.Sum256(nil))},
		{path: "none"},
	}
	dir := t.TempDir()
	fake := newStore(t)
	for name, tt := range map[string]struct{ to, where, all, prefix string }{
		"s3":   {fake.at("bucket/pre/fix/"), "s3://bucket/pre/fix/", fake.at("bucket"), "pre/fix/"},
		"file": {"file://" + dir, "file://" + dir + "/", "file://" + dir, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			srv, list := sinkList(t, testserver.Options{}, files...)
			job := func(flags ...string) map[string]report.Row {
				t.Helper()
				id := s.want(0, "add", append(flags, "--per-host", "2", list)...)
				end := s.working("--to", tt.to, "-j", "2")
				s.do("wait", id)
				end()
				return s.statuses(tt.where, id)
			}
			checkStored(t, files, job(), objects(t, tt.all), tt.prefix)
			for _, again := range []struct {
				flag          string
				fetched       int
				digest, other string // outcome for files with a digest, and without
			}{
				{"", 3, "before", "before"},
				{"--no-clobber", 3, "before", "before"},
				{"--overwrite", 8, "complete", "complete"},
				{"--newer", 3, "before", "before"},
			} {
				before := len(srv.Commands())
				rows := job(strings.Fields(again.flag)...)
				for _, f := range files[:5] {
					want := again.other
					if f.sum != "" {
						want = again.digest
					}
					if rows[f.path].Status != want {
						t.Errorf("%s: %s: %+v", again.flag, f.path, rows[f.path])
					}
				}
				if names := fetched(srv.Commands()[before:]); len(names) > again.fetched {
					t.Errorf("%s: fetched %v", again.flag, names)
				}
			}
		})
	}
	t.Cleanup(func() {
		if fake.begun.Load() == 0 || fake.begun.Load() != fake.ended.Load()+fake.aborted.Load() {
			t.Errorf("%d uploads in parts have begun, %d ended, %d were taken back", fake.begun.Load(), fake.ended.Load(), fake.aborted.Load())
		}
	})
}

// TestSinkAgain fetches a list again into the same store: first unchanged, and then from a server whose files are newer.
func TestSinkAgain(t *testing.T) {
	t.Parallel()
	s, fake := newStand(t), newStore(t)
	large := strings.Repeat("0123456789abcdef", 5<<16) // 5 MiB: the digest is known only after the upload has begun
	files := []sinkFile{{path: "small", contents: "small"}, {path: "large", contents: large}, {path: "sized", contents: "sized", sized: true}}
	_, old := sinkList(t, testserver.Options{}, files...)
	_, newer := sinkList(t, testserver.Options{ModTime: time.Unix(2e9, 0)}, files...)
	end := s.working("--to", fake.at("bucket"), "-j", "1")
	defer end()
	for i, tt := range []struct{ flags, list, want string }{
		{"", old, "complete"}, {"", old, "before"}, {"-N", old, "before"}, {"", newer, "failed"},
		{"-N", newer, "complete"}, {"-N", newer, "before"}, {"", newer, "before"}, {"-N", old, "before"},
	} {
		id := s.want(0, "add", append(strings.Fields(tt.flags), tt.list)...)
		s.do("wait", id)
		for path, row := range s.statuses("s3://bucket/", id) {
			if row.Status != tt.want {
				t.Errorf("%d: %s: %+v, want %s", i, path, row, tt.want)
			}
		}
	}
}

// TestSinkRefused has sinks that cannot be used. No worker may take a chunk, and nothing may be left behind.
func TestSinkRefused(t *testing.T) {
	t.Parallel()
	s, fake, closed := newStand(t), newStore(t), newStore(t)
	closed.refuse.Store(new(func(*http.Request) bool { return true }))
	srv, list := sinkList(t, testserver.Options{}, sinkFile{path: "f", contents: "f"})
	s.want(0, "add", list)
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"neither":            {nil, 2, "either -d DIR"},
		"both":               {[]string{"-d", "x", "--to", "mem://"}, 2, "either -d DIR"},
		"shared":             {[]string{"--shared", "--to", "mem://"}, 2, "either -d DIR"},
		"unknown":            {[]string{"--to", "ftp://me:" + marker + "@h/"}, 2, "write s3://BUCKET/PREFIX"},
		"a directory":        {[]string{"--to", "/tmp"}, 2, "write s3://BUCKET/PREFIX"},
		"malformed":          {[]string{"--to", "s3://%" + marker}, 2, "write s3://BUCKET/PREFIX"},
		"a login":            {[]string{"--to", "s3://me:" + marker + "@bucket"}, 2, "without a login"},
		"no bucket":          {[]string{"--to", fake.at("none/" + marker)}, 23, "NoSuchBucket"},
		"no directory":       {[]string{"--to", "file:///nowhere/at/all"}, 23, "cannot be used"},
		"an unknown option":  {[]string{"--to", "s3://bucket?colour=" + marker}, 23, "cannot be used"},
		"no permission":      {[]string{"--to", closed.at("bucket")}, 23, "cannot be used"},
		"no azure account":   {[]string{"--to", "azblob://container"}, 23, "cannot be used"},
		"nobody at the port": {[]string{"--to", "s3://bucket?region=x&use_path_style=true&endpoint=http://127.0.0.1:1"}, 23, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := s.do("work", append(tt.args, "--connect-timeout", "20s")...)
			if code != tt.code || out != "" || !strings.Contains(errs, tt.says) || strings.Count(errs, "\n") != 1 {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
			if strings.Contains(errs, marker) && name != "no bucket" && name != "an unknown option" {
				t.Errorf("a password is shown: %s", errs)
			}
		})
	}
	if srv.files.Load() > 0 || len(objects(t, fake.at("bucket"))) > 0 {
		t.Error("a file was fetched")
	}
}

// TestSinkFails has a store that first refuses some names, and then everything. In the first case, those files must
// fail. In the second, the worker ends, and another worker continues later.
func TestSinkFails(t *testing.T) {
	t.Parallel()
	s, fake := newStand(t), newStore(t)
	var all atomic.Bool
	fake.refuse.Store(new(func(r *http.Request) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "locked") || all.Load()
	}))
	files := []sinkFile{{path: "locked", contents: "x"}, {path: "free", contents: "y"}}
	_, list := sinkList(t, testserver.Options{}, files...)
	work := []string{"--to", fake.at("bucket"), "-j", "1"}
	id := s.want(0, "add", list)
	end := s.working(work...)
	s.want(23, "wait", id)
	end()
	if rows := s.statuses("s3://bucket/", id); rows["locked"].Status != "failed" || rows["free"].Status != "complete" {
		t.Errorf("got %+v", rows)
	}
	_, list = sinkList(t, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		all.Store(all.Load() || c.Verb == "RETR")
		return nil
	}}, sinkFile{path: "later", contents: "z"})
	id = s.want(0, "add", list)
	if _, errs, code := s.do("work", work...); code != 23 || !strings.Contains(errs, "cannot be stored") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	fake.refuse.Store(nil)
	end = s.working(work...)
	s.want(0, "wait", id)
	end()
	if rows := s.statuses("s3://bucket/", id); len(rows) != 1 || rows["later"].Status != "complete" {
		t.Errorf("got %+v", rows)
	}
}

// TestSinkKilled kills workers in the middle of files. Others complete the job: each object is whole, and reported once.
func TestSinkKilled(t *testing.T) {
	t.Parallel()
	s, fake := newStand(t), newStore(t)
	var files []sinkFile
	for i := range 40 {
		files = append(files, sinkFile{path: fmt.Sprintf("small-%d", i), contents: contents(i)})
	}
	for i := range 4 {
		large := strings.Repeat(fmt.Sprintf("%015d\n", i), 20<<16)
		sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(large)))
		files = append(files, sinkFile{fmt.Sprintf("large-%d", i), large, sum, true})
	}
	var mu sync.Mutex
	cuts := 3 // transfers that are still to be cut
	_, list := sinkList(t, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		mu.Lock()
		defer mu.Unlock()
		if c.Verb == "RETR" && strings.Contains(c.Arg, "large") && cuts > 0 {
			cuts--
			return testserver.EndDataAfter(18<<20, testserver.Stalled)
		}
		return nil
	}}, files...)
	id := s.want(0, "add", "--per-host", "2", list)
	work := func() func() {
		c := process(t, "work", "--join", s.file, "--to", fake.at("bucket"), "-j", "1")
		return func() { kill(c) }
	}
	for range 3 {
		parts := fake.parts.Load()
		end := work()
		eventually(t, "a part of a large file", func() bool { return fake.parts.Load() > parts })
		end()
		for path := range objects(t, fake.at("bucket")) {
			if strings.HasPrefix(path, "large") {
				t.Errorf("%s is there", path)
			}
		}
	}
	work()
	if got := facts(s.want(0, "wait", id, "--json")); got != "done 44 44 0 0" {
		t.Errorf("got %s", got)
	}
	rows, found := s.statuses("s3://bucket/", id), objects(t, fake.at("bucket"))
	for _, f := range files {
		if rows[f.path].Code != 0 || found[f.path] == nil || found[f.path].Metadata["contents"] != f.sha256() {
			t.Errorf("%s: %+v", f.path, rows[f.path])
		}
	}
	if len(rows) != len(files) || len(found) != len(files) {
		t.Errorf("%d rows and %d objects of %d files", len(rows), len(found), len(files))
	}
}

// TestSinkStopped ends a worker in the middle of a file. The worker must remove what it has sent of the file.
func TestSinkStopped(t *testing.T) {
	t.Parallel()
	s, fake := newStand(t), newStore(t)
	large := strings.Repeat("0123456789abcdef", 20<<16)
	_, list := sinkList(t, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" {
			return testserver.EndDataAfter(18<<20, testserver.Stalled)
		}
		return nil
	}}, sinkFile{"large", large, "", true})
	s.want(0, "add", list)
	end := s.working("--to", fake.at("bucket"), "-j", "1")
	eventually(t, "a part", func() bool { return fake.parts.Load() > 0 })
	end()
	if fake.begun.Load() != 1 || fake.aborted.Load() != 1 || len(objects(t, fake.at("bucket"))) > 0 {
		t.Errorf("%d uploads were begun, %d taken back", fake.begun.Load(), fake.aborted.Load())
	}
}
