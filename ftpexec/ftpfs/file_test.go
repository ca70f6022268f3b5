package ftpfs_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// restarts is Honest with REST: RETR sends contents from the offset on.
func restarts(contents string) testserver.Step {
	return func(d *testserver.Dialogue) {
		offset := 0
		testserver.Honest(contents).With("MLST", mlst("Type=file;Modify=20200102030405;Size="+strconv.Itoa(len(contents)))).With("REST", func(c *testserver.Conn) error {
			offset, _ = strconv.Atoi(c.Arg)
			offset = min(offset, len(contents))
			return testserver.Reply("350 fine")(c)
		}).With("RETR", func(c *testserver.Conn) error {
			rest := contents[offset:]
			offset = 0
			return testserver.Transfer(rest)(c)
		})(d)
	}
}

// seekable is what an open file can do.
type seekable interface {
	fs.File
	io.Seeker
	io.ReaderAt
}

// open opens a file until the end of the test.
func open(t testing.TB, d fs.FS, name string) seekable {
	t.Helper()
	f := must.Get(d.Open(name))(t)
	t.Cleanup(func() { f.Close() })
	return f.(seekable)
}

// From every position to every position of a small file: the bytes are right, and one connection is enough. Only Read
// starts a transfer.
func TestFSSeekEverywhere(t *testing.T) {
	const contents = "0123456789abcdef"
	s := testserver.New(t, nil, restarts(contents))
	f := open(t, openFS(t, new(ftpexec.Client), s.URL("/d/")), "f")
	seek := func(whence, to int) {
		t.Helper()
		now := must.Get(f.Seek(0, io.SeekCurrent))(t)
		if got, err := f.Seek(int64(to)-[]int64{0, now, int64(len(contents))}[whence], whence); err != nil || got != int64(to) {
			t.Fatalf("Seek: got %d, %v, want %d", got, err, to)
		}
	}
	for to := range 100 {
		seek(to%3, to)
	}
	if got := s.Commands(); got[len(got)-1] != "MLST f" || s.DataConnections() != 0 {
		t.Errorf("before Read: %q, %d data connections", got, s.DataConnections())
	}
	for from := range len(contents) + 2 {
		for to := range len(contents) + 2 {
			for _, pos := range []int{from, to} {
				seek((from+to)%3, pos)
				want, b := contents[min(pos, len(contents)):min(pos+2, len(contents))], make([]byte, 2)
				if n, err := io.ReadFull(f, b); string(b[:n]) != want || (err != nil) != (len(want) < 2) {
					t.Fatalf("%d -> %d: got %q, %v, want %q", from, to, b[:n], err, want)
				}
			}
		}
	}
	if s.Connections() != 1 {
		t.Errorf("%d connections, want 1", s.Connections())
	}
}

// Close ends a Read that waits for data, or for a connection.
func TestFSCloseEndsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := ftptest.NewNetwork()
		s := network.NewScript(t, restarts("contents"), testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Stalled)))
		c := &ftpexec.Client{Dial: network.Dial, MaxConns: 1, Timeout: 24 * time.Hour}
		d := openFS(t, c, s.URL("/d/"))
		var all sync.WaitGroup
		var files []fs.File
		for range 2 {
			files = append(files, open(t, d, "f"))
		}
		for _, f := range files {
			all.Go(func() {
				if got, err := io.ReadAll(f); !errors.Is(err, fs.ErrClosed) || len(got) > 3 {
					t.Errorf("got %q, %v, want ErrClosed", got, err)
				}
			})
			<-time.After(time.Minute)
			synctest.Wait()
		}
		for _, i := range []int{1, 0} {
			must.Do(t, files[i].Close())
		}
		all.Wait()
	})
}

// In a large file, bytes before the new position are read and dropped if they are few; otherwise the file gives up the
// transfer.
func TestFSSeekFar(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	s := testserver.New(t, nil, restarts(contents))
	d := openFS(t, new(ftpexec.Client), s.URL("/d/"))
	for _, tt := range []struct {
		name             string
		at               []int
		transfers, dials int
	}{
		{"in order", []int{0, 100, 200}, 1, 0},
		{"a short way ahead", []int{0, 256 << 10, 512 << 10}, 1, 0},
		// With REST one transfer more proves that the server begins there, once for a connection.
		{"a long way ahead", []int{0, 300 << 10}, 3, 0},
		{"back", []int{1 << 20, 0}, 2, 0},
		{"to the end and back", []int{2<<20 - 10, 0}, 2, 0}, // the first transfer is over
		{"near the end and back", []int{2<<20 - 200<<10, 0}, 2, 0},
		{"near the end again and again", []int{2<<20 - 200<<10, 0, 2<<20 - 100<<10, 2<<20 - 10}, 3, 0},
	} {
		if _, err := d.Stat("f"); err != nil { // there is a connection
			t.Fatal(err)
		}
		s.ResetCommands()
		f := open(t, d, "f")
		for _, at := range tt.at {
			b := make([]byte, 10)
			if n, err := f.ReadAt(b, int64(at)); err != nil || string(b) != contents[at:at+10] {
				t.Errorf("%s: at %d got %q, %v", tt.name, at, b[:n], err)
			}
		}
		f.Close()
		if got := count(s.Commands(), "RETR f"); got != tt.transfers || s.Connections() != tt.dials {
			t.Errorf("%s: %d transfers, %d new connections, want %d and %d", tt.name, got, s.Connections(), tt.transfers, tt.dials)
		}
	}
}

// Several goroutines may call ReadAt, next to one that reads.
func TestFSReadAtConcurrently(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 100)
	s := testserver.New(t, nil, restarts(contents))
	f := open(t, openFS(t, new(ftpexec.Client), s.URL("/d/")), "f")
	var all sync.WaitGroup
	for i := range 4 {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for range 20 {
				at, b := random.IntN(len(contents)-10), make([]byte, 10)
				if _, err := f.ReadAt(b, int64(at)); err != nil || string(b) != contents[at:at+10] {
					t.Errorf("at %d: got %q, %v", at, b, err)
				}
			}
		})
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != contents {
		t.Errorf("ReadAll: got %d bytes, %v", len(got), err)
	}
	all.Wait()
}

// Whatever part of the file comes, Read returns io.EOF only for all of it, and the next Read goes on where it stopped.
// The last byte comes only with the server's confirmation.
func TestFSTruncated(t *testing.T) {
	for _, contents := range []string{"", "contents"} {
		for n := range len(contents) + 1 {
			for _, final := range []string{"226 fine", "426 cut", "451 disk", ""} {
				cut := []testserver.Action{testserver.Reply("150 x"), testserver.Data(contents[:n], testserver.Closed), testserver.Reply(final)}
				if final == "" {
					cut[2] = testserver.EndControl(testserver.Closed)
				}
				s := testserver.New(t, nil, restarts(contents), testserver.OnConn(1, testserver.On("#1 RETR", cut...)))
				f := open(t, openFS(t, new(ftpexec.Client), s.URL("/d/")), "f")
				got, err := io.ReadAll(f)
				whole := n == len(contents) && final == "226 fine"
				came := n
				if n == len(contents) && !whole { // the last byte waits for the reply
					came = max(0, n-1)
				}
				if (err == nil) != whole || string(got) != contents[:came] ||
					err != nil && !errors.Is(err, ftpexec.ErrTruncated) && !errors.Is(err, ftpexec.ErrLost) && !errors.Is(err, ftpexec.ErrRefused) {
					t.Errorf("%d of %q, %q: got %q, %v", n, contents, final, got, err)
				}
				rest, again := io.ReadAll(f)
				if want := contents[came:]; string(rest) != want || again != nil {
					t.Errorf("%d of %q, %q: then got %q, %v, want %q", n, contents, final, rest, again, want)
				}
			}
		}
	}
}

// Close keeps the connection: five ranges of a file take one, whether few bytes are left or many. Close waits for one second for a rest that does not come.
func TestFSCloseEarly(t *testing.T) {
	for _, tt := range []struct{ size, connections int }{{1000, 1}, {200 << 10, 1}, {8 << 20, 1}} {
		contents := strings.Repeat("c", tt.size)
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}})
		d := openFS(t, new(ftpexec.Client), s.URL("/"))
		for i := range 5 {
			f := open(t, d, "f")
			must.Get(f.ReadAt(make([]byte, 10), int64(i)))(t)
			must.Do(t, f.Close())
			if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("the second Close: %v", err)
			}
		}
		if n := s.Connections(); n != tt.connections {
			t.Errorf("%d bytes: %d connections, want %d", tt.size, n, tt.connections)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		network := ftptest.NewNetwork()
		s := network.NewScript(t, restarts("contents"), testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Stalled)))
		f := open(t, openFS(t, &ftpexec.Client{Dial: network.Dial}, s.URL("/d/")), "f")
		must.Get(io.ReadFull(f, make([]byte, 3)))(t)
		start := time.Now()
		must.Do(t, f.Close())
		if took := time.Since(start); took != time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

// It is an error if the server has another file when the next transfer begins.
func TestFSChanged(t *testing.T) {
	for _, change := range []testserver.Step{
		testserver.On("#2 SIZE", testserver.Reply("213 9")), testserver.On("#2 MDTM", testserver.Reply("213 20210102030405")).With("#3 MDTM", testserver.Reply("213 20210102030405")),
		testserver.On("#1 SIZE", testserver.Reply("213 9")), // other than what Open was told
	} {
		s := testserver.New(t, nil, restarts("contents"), change)
		f := open(t, openFS(t, new(ftpexec.Client), s.URL("/d/")), "f")
		_, err := io.ReadAll(f)
		if _, again := f.ReadAt(make([]byte, 2), 3); !errors.Is(cmp.Or(err, again), ftpexec.ErrChanged) {
			t.Errorf("got %v, then %v, want ErrChanged", err, again)
		}
	}
}

// A Read beyond the end returns io.EOF and sends nothing.
func TestFSBeyondTheEnd(t *testing.T) {
	for _, contents := range []string{"", "contents"} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}, Fault: unknown("REST")})
		f := open(t, openFS(t, new(ftpexec.Client), s.URL("/")), "f")
		s.ResetCommands()
		n, err := f.ReadAt(make([]byte, 3), 9)
		_, _ = f.Seek(9, io.SeekStart)
		if m, again := f.Read(make([]byte, 3)); n != 0 || err != io.EOF || m != 0 || again != io.EOF || len(s.Commands()) > 0 {
			t.Errorf("%q: got %d bytes and %v, %d bytes and %v after %q, want io.EOF after no commands", contents, n, err, m, again, s.Commands())
		}
		_, _ = f.Seek(0, io.SeekStart)
		if got, err := io.ReadAll(f); string(got) != contents || err != nil {
			t.Errorf("from the start: got %q and %v, want %q", got, err, contents)
		}
	}
}

// A file with more bytes than MLST says has changed, even if nothing else gives its size and the surplus comes in one
// piece with the rest.
func TestFSMoreThanTold(t *testing.T) {
	const contents = "contents"
	for size := range len(contents) + 2 {
		want := []error{ftpexec.ErrChanged, nil, ftpexec.ErrTruncated}[1+cmp.Compare(size, len(contents))]
		for _, by := range []func(io.Reader) io.Reader{iotest.OneByteReader, func(r io.Reader) io.Reader { return bufio.NewReaderSize(r, 16) }} {
			s := testserver.New(t, nil, testserver.Honest(contents).With("SIZE", testserver.Reply("502 unknown")).With("MLST", mlst("Type=file;Modify=20200102030405;Size="+strconv.Itoa(size))).
				With("RETR", testserver.Reply("150 here it comes"), testserver.Data(contents, testserver.Closed), testserver.Reply("226 done")))
			got, err := io.ReadAll(by(open(t, openFS(t, new(ftpexec.Client), s.URL("/")), "f")))
			if !errors.Is(err, want) || want == nil && string(got) != contents {
				t.Errorf("size %d: got %q and %v, want %v", size, got, err, want)
			}
		}
	}
}

// Whatever number a server says, and wherever a program looks in the file: the bytes are right, or there is an error.
func TestFSNumbers(t *testing.T) {
	const contents = "contents"
	numbers := []string{"0", "-1", "2147483648", "4294967296", "4611686018427387904", "9223372036854775807", "9223372036854775808",
		"18446744073709551616", strings.Repeat("9", 40)}
	n := 0
	for _, size := range append(numbers, "8") {
		for _, by := range []testserver.Step{
			testserver.On("SIZE", testserver.Reply("213 "+size)).With("MLST", testserver.Reply("500 unknown")).With("CWD f", testserver.Reply("550 no")),
			testserver.On("MLST", mlst("Type=file;Modify=20200102030405;Size="+size)),
			testserver.On("RETR", testserver.Reply("150 Opening ("+size+" bytes)"), testserver.Data(contents, testserver.Closed), testserver.Reply("226 fine")).With("SIZE", testserver.Reply("500 unknown")),
		} {
			s := testserver.New(t, nil, restarts(contents), testserver.On("CWD f", testserver.Reply("550 no")), by)
			d := openFS(t, new(ftpexec.Client), s.URL("/"))
			all, err := d.ReadFile("f")
			if err == nil && string(all) != contents {
				t.Errorf("%s: ReadFile got %q", size, all)
			}
			f, err := d.Open("f")
			if err != nil {
				continue
			}
			for _, number := range numbers {
				at, err := strconv.ParseInt(number, 10, 64)
				if err != nil {
					continue
				}
				for whence := range 3 {
					n++
					to, err := f.(io.Seeker).Seek(at, whence)
					if m, rerr := io.ReadFull(f, make([]byte, 1)); to < 0 || err == nil && m == 1 && to >= 8 {
						t.Errorf("%s: Seek(%d, %d): %d, %v, then %d bytes, %v", size, at, whence, to, err, m, rerr)
					}
				}
				b := make([]byte, 3)
				if m, err := f.(io.ReaderAt).ReadAt(b, at); m > 0 && string(b[:m]) != contents[:m] || m < 3 && err == nil {
					t.Errorf("%s: ReadAt(%d): %q, %v", size, at, b[:m], err)
				}
			}
			must.Do(t, f.Close())
			s.Close()
		}
	}
	t.Logf("%d places", n)
}

func Example() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n", "/pub/news": "none\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	fsys, err := ftpfs.Open(context.Background(), &c, s.URL("/"))
	if err != nil {
		log.Fatal(err)
	}
	err = fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, ftpexec.ErrLine) { // an entry that cannot be listed; the walk goes on
			log.Print(err)
			return nil
		}
		fmt.Println(path)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	contents, err := fs.ReadFile(fsys, "pub/motd")
	fmt.Printf("%q %v\n", contents, err)
	// Output:
	// .
	// pub
	// pub/motd
	// pub/news
	// "hello\n" <nil>
}

// After an earlier try has failed, a small file without a time is read to its end.
func TestFSEndAfterAnotherTry(t *testing.T) {
	const contents = "contents"
	tries := 0
	s := testserver.New(t, nil, testserver.Honest(contents).With("MLST", mlst("Type=file;Size=8")).With("RETR", func(c *testserver.Conn) error {
		tries++
		if tries == 1 {
			return testserver.Reply("550 Not now")(c)
		}
		return testserver.Transfer(contents)(c)
	}))
	f := open(t, openFS(t, new(ftpexec.Client), s.URL("/d/")), "f")
	if _, err := f.Read(make([]byte, 1)); err == nil {
		t.Error("no error of the first try")
	}
	if got, err := io.ReadAll(f); string(got) != contents || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// Members of an archive are read four at once: the file takes four connections, and later members no more. Each read
// goes on where one before it has stopped, without another transfer.
func TestFSArchive(t *testing.T) {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	random := rand.New(rand.NewPCG(1, 1))
	members := map[string]string{}
	for i := range 50 {
		name := fmt.Sprint("member", i)
		contents := make([]byte, 300<<10)
		for i := range contents {
			contents[i] = byte(random.Uint32())
		}
		members[name] = string(contents)
		member := must.Get(z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}))(t)
		must.Get(member.Write(contents))(t)
	}
	must.Do(t, z.Close())
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": archive.String()}})
	f := open(t, openFS(t, new(ftpexec.Client), s.URL("/")), "f")
	r := must.Get(zip.NewReader(f, int64(archive.Len())))(t)
	random.Shuffle(len(r.File), func(i, j int) { r.File[i], r.File[j] = r.File[j], r.File[i] })
	read := func(files []*zip.File) {
		next := make(chan *zip.File)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for m := range next {
					in, err := m.Open()
					var got []byte
					if err == nil {
						got, err = io.ReadAll(in)
					}
					if err != nil || string(got) != members[m.Name] {
						t.Errorf("%s: %d bytes, %v", m.Name, len(got), err)
					}
				}
			})
		}
		for _, m := range files {
			next <- m
		}
		close(next)
		all.Wait()
	}
	read(r.File)
	if n := s.Connections(); n > 4 {
		t.Errorf("%d connections for 4 members at once", n)
	}
}

// Calls of ReadAt run at once: each waits for the server, and they all get their bytes in the time of one. Ranges that
// follow each other share a transfer.
func TestFSReadAtAtOnce(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	for _, tt := range []struct {
		name             string
		apart            int64
		most             int
		conns, transfers int // at most
	}{
		{"far apart", 1 << 20, 0, 4, 4 + 4},
		{"far apart, two connections", 1 << 20, 2, 2, 4 + 2},
		{"one connection", 1 << 20, 1, 1, 4 + 1},
		{"one after another", 4 << 10, 0, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			s := network.NewScript(t, restarts(contents))
			c := &ftpexec.Client{MaxConns: tt.most, Dial: network.Dial}
			f := open(t, openFS(t, c, s.URL("/d/")), "f")
			var all sync.WaitGroup
			for i := range int64(4) {
				all.Go(func() {
					at, b := i*tt.apart, make([]byte, 4<<10)
					if n, err := f.ReadAt(b, at); err != nil || string(b) != contents[at:at+4<<10] {
						t.Errorf("%s: at %d: %d bytes, %v", tt.name, at, n, err)
					}
				})
				synctest.Wait()
			}
			all.Wait()
			transfers := count(s.Commands(), "RETR f")
			if n := s.Connections(); n > tt.conns || transfers > tt.transfers {
				t.Errorf("%s: %d connections, %d transfers", tt.name, n, transfers)
			}
			must.Do(t, f.Close())
			c.CloseIdleConnections()
		})
	}
}

// If the server allows fewer connections than there are calls of ReadAt, the calls share those that there are.
func TestFSReadAtFullServer(t *testing.T) {
	contents := strings.Repeat("0123456789abcdef", 1<<18)
	full := testserver.Sequence(testserver.Reply("421 Too many connections"), testserver.EndControl(testserver.Closed))
	var steps []testserver.Step
	for i := range 20 {
		steps = append(steps, testserver.OnConn(i+3, testserver.On("", full)))
	}
	s := testserver.New(t, nil, append([]testserver.Step{restarts(contents)}, steps...)...)
	f := open(t, openFS(t, new(ftpexec.Client), s.URL("/d/")), "f")
	var all sync.WaitGroup
	for i := range int64(8) {
		all.Go(func() {
			at, b := i<<18, make([]byte, 64<<10)
			if n, err := f.ReadAt(b, at); err != nil || string(b) != contents[at:at+64<<10] {
				t.Errorf("at %d: %d bytes, %v", at, n, err)
			}
		})
	}
	all.Wait()
}
