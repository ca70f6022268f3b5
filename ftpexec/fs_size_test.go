package ftpexec_test

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// Beyond the end of a file there is io.EOF, without a question to the server, whatever the file's size.
func TestFSBeyondTheEnd(t *testing.T) {
	for _, contents := range []string{"", "contents"} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}, Fault: unknown("REST")})
		f, err := openFS(t, new(ftpexec.Client), s.URL("/")).Open("f")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		s.ResetCommands()
		if n, err := f.(io.ReaderAt).ReadAt(make([]byte, 3), 9); n != 0 || err != io.EOF {
			t.Errorf("%q: ReadAt: got %d bytes and %v, want io.EOF", contents, n, err)
		}
		if _, err := f.(io.Seeker).Seek(9, io.SeekStart); err != nil {
			t.Error(err)
		}
		if n, err := f.Read(make([]byte, 3)); n != 0 || err != io.EOF || len(s.Commands()) > 0 {
			t.Errorf("%q: Read: got %d bytes and %v after %q, want io.EOF after no commands", contents, n, err, s.Commands())
		}
		if _, err := f.(io.Seeker).Seek(0, io.SeekStart); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(f); string(got) != contents || err != nil {
			t.Errorf("from the start: got %q and %v, want %q", got, err, contents)
		}
	}
}

// After a failure the next Read of an empty file tries again, as that of any other file does.
func TestFSEmptyTriesAgain(t *testing.T) {
	s := testserver.NewScript(t, restarts(""), testserver.OnNth(1, "RETR", testserver.Reply("451 later")))
	f, err := openFS(t, new(ftpexec.Client), s.URL("/")).Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, ftpexec.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
	if _, err := f.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
}

// A file with more bytes than MLST says has changed, even if nothing else tells its size and the surplus comes in one
// piece with the rest.
func TestFSMoreThanTold(t *testing.T) {
	const contents = "contents"
	for size := range len(contents) + 2 {
		for _, buffer := range []int{1, 3, 5, 512} {
			t.Run(fmt.Sprint(size, " ", buffer), func(t *testing.T) {
				t.Parallel()
				s := testserver.NewScript(t, testserver.Honest(contents), testserver.On("SIZE", testserver.Reply("502 unknown")),
					testserver.On("MLST", testserver.Reply("250-x\r\n Type=file;Size="+strconv.Itoa(size)+"; f\r\n250 x")),
					testserver.On("RETR", append([]testserver.Action{testserver.Reply("150 here it comes")}, testserver.Transfer(contents)[1:]...)...))
				f, err := openFS(t, new(ftpexec.Client), s.URL("/")).Open("f")
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				got, err := io.ReadAll(chunks{f, buffer})
				var want error
				switch {
				case size < len(contents):
					want = ftpexec.ErrChanged
				case size > len(contents):
					want = ftpexec.ErrTruncated
				}
				if !errors.Is(err, want) || want == nil && string(got) != contents {
					t.Errorf("got %q and %v, want %v", got, err, want)
				}
			})
		}
	}
}

// chunks reads at most n bytes at once.
type chunks struct {
	io.Reader
	n int
}

func (c chunks) Read(p []byte) (int, error) { return c.Reader.Read(p[:min(len(p), c.n)]) }
