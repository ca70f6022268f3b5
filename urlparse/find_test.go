package urlparse

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/ftpfetch/internal/rules/table"
)

// findAll returns a line "LINE URL" or "LINE error COLUMN TEXT" for each hit.
func findAll(r io.Reader) (lines []string, err error) {
	err = Find(r, func(line int, u *URL, err error) bool {
		if e, ok := errors.AsType[*Error](err); ok {
			lines = append(lines, strconv.Itoa(line)+" error "+strconv.Itoa(e.column)+" "+inner(e.Input))
		} else {
			lines = append(lines, strconv.Itoa(line)+" "+u.String())
		}
		return true
	})
	return lines, err
}

// TestAppendixFind tests the wrapper in free text.
func TestAppendixFind(t *testing.T) { testFind(t, "wrapped") }

// TestFindBare tests URLs without a wrapper.
func TestFindBare(t *testing.T) { testFind(t, "bare") }

func testFind(t *testing.T, section string) {
	t.Helper()
	for _, row := range table.Rows(t, "found.txt", section) {
		name, in, want := row[0], row[1], row[2:]
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
			if got, err := findAll(r); !slices.Equal(got, want) || err != nil {
				t.Errorf("%s:\n got %q, %v\nwant %q", name, got, err, want)
			}
		}
	}
}

// TestFindBoundsMemory reads URLs without end: each is one error, and the search continues after it.
func TestFindBoundsMemory(t *testing.T) {
	endless := strings.Repeat("a", 3*maxFound)
	for in, want := range map[string]string{
		"<URL:ftp://h/" + endless + "> ftp://h/b": "1 ftp://h/b", "ftp://h/" + endless + "\nftp://h/b": "2 ftp://h/b",
		"x ftp://h/" + endless + ". <URL:ftp://h/b>": "1 ftp://h/b", "<URL:http://h/" + endless + ">": "",
	} {
		got, err := findAll(strings.NewReader(in))
		if n := len(got); want == "" && n != 0 || want != "" && (n != 2 || !strings.HasPrefix(got[0], "1 error 65537 ftp://h/aaa") || got[1] != want || len(got[0]) > maxFound+100) || err != nil {
			t.Errorf("%.20s: %d hits, %v", in, n, err)
		}
	}
}

// Find ends with the error of the reader, or when found returns false.
func TestFindEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, in := range []string{"", "x", "ftp://h/a ", "ftp://h/a \n<URL:ftp", "ftp://h/a <URL:ftp://h/b", "ftp://h/a ftp://h/b", "ftp://h/a  f"} {
		got, err := findAll(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || strings.Contains(strings.Join(got, " "), "/b") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	_, err := findAll(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ftp://h/a"))))
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a passing error is lost: %v", err)
	}
	n := 0 // found may end it
	if err := Find(strings.NewReader("ftp://h/a ftp://h/b"), func(int, *URL, error) bool { n++; return false }); n != 1 || err != nil {
		t.Errorf("%d hits, %v", n, err)
	}
}
