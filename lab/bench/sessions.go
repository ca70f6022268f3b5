package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jlaffaye/ftp"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/lab/interop"
)

// sessionServers are the servers of the table "sessions".
var sessionServers = []interop.Kind{interop.Vsftpd, interop.Proftpd, interop.PureFTPd, interop.Pyftpdlib}

const (
	sessionFiles = 300      // small files
	largeSize    = 64 << 20 // of the file that is read in parts
	members      = 50       // of the archive
)

// sessionTask is a row of the table "sessions". Each function returns the number of logins.
type sessionTask struct {
	title  string
	ours   func(ctx context.Context, base string) (int, error)
	theirs func(addr string) (int, error) // nil if jlaffaye/ftp has no such thing
}

var sessionTasks = []sessionTask{
	{fmt.Sprintf("%d files of 4 KiB by 6 goroutines", sessionFiles), ourFiles, theirFiles},
	{"50 reads of 4 KiB at random places of a large file", ourReads, theirReads},
	{fmt.Sprintf("archive/zip, %d members, 4 at once", members), ourArchive, nil},
	{"200 requests with Range, 8 at once", ourRanges, nil},
}

// sessions measures how often a program logs in, and how long it takes, on real servers. The client has the defaults.
func sessions(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	for i := range sessionFiles {
		if _, err := b.file(smallFile(i), small); err != nil {
			return err
		}
	}
	if _, err := b.file("large.bin", largeSize); err != nil {
		return err
	}
	if err := writeArchive(filepath.Join(b.tree.Public, "all.zip")); err != nil {
		return err
	}
	fmt.Fprint(w, "| task | server | logins | of jlaffaye/ftp | time, ms | ratio |\n|---|---|--:|--:|--:|--:|\n")
	for _, task := range sessionTasks {
		for _, kind := range sessionServers {
			if err := sessionRow(ctx, b, w, task, kind); err != nil {
				return fmt.Errorf("%s, %s: %w", task.title, kind, err)
			}
		}
	}
	fmt.Fprintf(w, "\nMachine: %s. %s.\n", machine(), peer())
	return nil
}

// sessionRow measures a task on a server of its own. The two packages take turns.
func sessionRow(ctx context.Context, b *bench, w io.Writer, task sessionTask, kind interop.Kind) error {
	s, err := interop.Start(ctx, kind, b.tree, interop.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	var times, ratios []float64
	ours, theirs := 0, 0
	for range pick(b, 9, 1) {
		start := time.Now()
		if ours, err = task.ours(ctx, s.URL("")); err != nil {
			return err
		}
		took := time.Since(start).Seconds() * 1e3
		times = append(times, took)
		if task.theirs == nil {
			continue
		}
		start = time.Now()
		if theirs, err = task.theirs(s.Addr); err != nil {
			return fmt.Errorf("jlaffaye/ftp: %w", err)
		}
		ratios = append(ratios, took/(time.Since(start).Seconds()*1e3))
	}
	other, ratio := "-", "-"
	if len(ratios) > 0 {
		other = fmt.Sprint(theirs)
		ratio = fmt.Sprintf("%.2f", spreadOf(ratios).median)
	}
	_, err = fmt.Fprintf(w, "| %s | %s | %d | %s | %.0f | %s |\n", task.title, kind, ours, other, spreadOf(times).median, ratio)
	return err
}

func writeArchive(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z := zip.NewWriter(f)
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 300<<10)
	for i := range members {
		for j := range text {
			text[j] = byte(random.Uint32())
		}
		member, err := z.Create(fmt.Sprint("member", i))
		if err == nil {
			_, err = member.Write(text)
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(z.Close(), f.Close())
}

// counting returns the zero Client, but for a Trace that counts its logins.
func counting() (*ftpexec.Client, func() int) {
	var n atomic.Int64
	c := &ftpexec.Client{Trace: &ftpexec.Trace{Command: func(e ftpexec.CommandInfo) {
		if e.Verb == "USER" {
			n.Add(1)
		}
	}}}
	return c, func() int { return int(n.Load()) }
}

// together calls do with 0 up to n, in several goroutines.
func together(goroutines, n int, do func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make([]error, goroutines)
	for g := range goroutines {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failed[g] == nil; i = int(next.Add(1)) - 1 {
				failed[g] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func ourFiles(ctx context.Context, base string) (int, error) {
	c, logins := counting()
	defer c.CloseIdleConnections()
	err := together(6, sessionFiles, func(i int) error {
		r, err := c.Get(ctx, base+"/"+smallFile(i))
		if err != nil {
			return err
		}
		return drain(r.Body)
	})
	return logins(), err
}

// login connects with jlaffaye/ftp.
func login(addr string) (*ftp.ServerConn, error) {
	c, err := ftp.Dial(addr)
	if err == nil {
		err = c.Login("anonymous", "anonymous")
	}
	return c, err
}

// theirFiles has a connection for each goroutine, as a program must do itself.
func theirFiles(addr string) (int, error) {
	const goroutines = 6
	free := make(chan *ftp.ServerConn, goroutines)
	for range goroutines {
		c, err := login(addr)
		if err != nil {
			return 0, err
		}
		defer c.Quit()
		free <- c
	}
	return goroutines, together(goroutines, sessionFiles, func(i int) error {
		c := <-free
		defer func() { free <- c }()
		r, err := c.Retr("/" + smallFile(i))
		if err != nil {
			return err
		}
		return drain(r)
	})
}

// places are where the reads begin.
func places() (all []int64) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		all = append(all, random.Int64N(largeSize-1<<20))
	}
	return all
}

func ourReads(ctx context.Context, base string) (int, error) {
	c, logins := counting()
	defer c.CloseIdleConnections()
	d, err := ftpfs.Open(ctx, c, base+"/")
	if err != nil {
		return 0, err
	}
	f, err := d.Open("large.bin")
	if err != nil {
		return 0, err
	}
	for _, at := range places() {
		if _, err := f.(io.ReaderAt).ReadAt(make([]byte, 4<<10), at); err != nil {
			return 0, err
		}
	}
	return logins(), f.Close()
}

func theirReads(addr string) (int, error) {
	c, err := login(addr)
	if err != nil {
		return 0, err
	}
	defer c.Quit()
	for _, at := range places() {
		r, err := c.RetrFrom("/large.bin", uint64(at))
		if err == nil {
			_, err = io.ReadFull(r, make([]byte, 4<<10))
		}
		if err != nil {
			return 0, err
		}
		r.Close() // the error is the server's 426
	}
	return 1, nil
}

func ourArchive(ctx context.Context, base string) (int, error) {
	c, logins := counting()
	defer c.CloseIdleConnections()
	d, err := ftpfs.Open(ctx, c, base+"/")
	if err != nil {
		return 0, err
	}
	f, err := d.Open("all.zip")
	if err != nil {
		return 0, err
	}
	info, _ := f.Stat() // sends nothing
	z, err := zip.NewReader(f.(io.ReaderAt), info.Size())
	if err != nil {
		return 0, err
	}
	order := rand.New(rand.NewPCG(5, 6)).Perm(members)
	err = together(4, members, func(i int) error {
		m, err := z.File[order[i]].Open()
		if err == nil {
			_, err = io.Copy(io.Discard, m)
		}
		return err
	})
	return logins(), errors.Join(err, f.Close())
}

// ourRanges serves the tree with net/http and asks for parts of the large file.
func ourRanges(ctx context.Context, base string) (int, error) {
	c, logins := counting()
	defer c.CloseIdleConnections()
	d, err := ftpfs.Open(ctx, c, base+"/")
	if err != nil {
		return 0, err
	}
	s := httptest.NewServer(http.FileServerFS(d))
	defer s.Close()
	at := places()
	err = together(8, 200, func(i int) error {
		req, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/large.bin", nil)
		if err != nil {
			return err
		}
		begin := at[i%len(at)]
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", begin, begin+(4<<10)-1))
		r, err := s.Client().Do(req)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err == nil && n != 4<<10 {
			err = fmt.Errorf("%s, %d bytes", r.Status, n)
		}
		return errors.Join(err, r.Body.Close())
	})
	return logins(), err
}
