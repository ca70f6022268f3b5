package ftphttp

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// A part of the file is sent only for one date, which must be the file's time and a strong validator (RFC 9110 section
// 13.1.5): the whole file for any other, for a tag, for none, for two, and for a recent time.
func TestIfRange(t *testing.T) {
	long, now := stamp, time.Now().UTC().Truncate(time.Second)
	n := 0
	for _, at := range []time.Time{long, now.Add(-25 * time.Hour), now.Add(-23 * time.Hour), now.Add(-time.Minute), now.Add(-time.Second), now, now.Add(time.Hour), now.Add(24 * 365 * time.Hour), {}} {
		s := testserver.New(t, &testserver.Options{ModTime: at, Tree: map[string]string{"/f": "abcdef"}, Fault: func(c *testserver.Conn) testserver.Action {
			if c.Verb == "MDTM" && at.IsZero() {
				return testserver.Reply("502 unknown")
			}
			return nil
		}})
		strongAt := !at.IsZero() && now.Sub(at) >= 24*time.Hour
		right := at.Format(http.TimeFormat)
		for _, fields := range [][]string{
			nil, {right}, {right, right}, {at.Add(time.Second).Format(http.TimeFormat)}, {at.Add(-time.Second).Format(http.TimeFormat)}, {at.Format(time.RFC850)}, {at.Format(time.ANSIC)},
			{at.Format(time.RFC3339)}, {strings.ToLower(right)}, {right + ", " + right}, {`"` + right + `"`}, {"W/" + right}, {`"tag"`}, {`W/"tag"`}, {"*"}, {""}, {"0"}, {"-1"}, {"garbage"}, {right, `"tag"`}, {`"tag"`, right},
		} {
			n++
			want := "200 OK|abcdef"
			if fields == nil || strongAt && len(fields) == 1 && fields[0] == right {
				want = "206 Partial Content|bcd"
			}
			lines := []string{"Range: bytes=1-3"}
			for _, field := range fields {
				lines = append(lines, "If-Range: "+field)
			}
			if got := request(t.Context(), registered(t, &ftpexec.Client{MaxIdle: -1}), "GET", s.URL("/f"), lines...); got.shown() != want || got.err != nil {
				t.Errorf("%v, If-Range: %q: got %q, %v, want %q", at, fields, got.shown(), got.err, want)
			}
		}
	}
	t.Logf("%d fields", n)
}

// numbers has numbers that a client or a server may send.
var numbers = []string{"0", "-1", "2147483648", "4294967296", "4611686018427387904", "9223372036854775806", "9223372036854775807",
	"9223372036854775808", "18446744073709551616", strings.Repeat("9", 40)}

// A range of any numbers is right (RFC 9110 section 14.1.2), whatever size the server says. Only a size that the bytes
// do not have is an error.
func TestRangeNumbers(t *testing.T) {
	const contents = "contents"
	n := 0
	for _, size := range append(numbers, "8") {
		s := testserver.New(t, nil, testserver.Honest(contents).With("SIZE", testserver.Reply("213 "+size)))
		c := registered(t, &ftpexec.Client{})
		for _, number := range numbers {
			for _, spec := range []string{number + "-", "-" + number, "0-" + number, number + "-" + number, "1-" + number} {
				n++
				got := request(t.Context(), c, "GET", s.URL("/f"), "Range: bytes="+spec)
				known, err := strconv.ParseInt(size, 10, 64)
				switch told := err == nil && known >= 0; {
				case got.StatusCode == 416 && told && got.Header.Get("Content-Range") == "bytes */"+size:
				case got.StatusCode == 416, got.StatusCode == 206 && !told, got.StatusCode != 200 && got.StatusCode != 206 && got.err == nil:
					t.Errorf("SIZE %s, bytes=%s: got %q, %v", size, spec, got.shown("Content-Range"), got.err)
				case got.err == nil && (got.contents != contents || told && size != "8") && got.shown("Content-Range") != "206 Partial Content|bytes 0-0/"+size+"|c" && !strings.HasPrefix("206 Partial Content|bytes 1-7/8|ontents", got.shown("Content-Range")):
					t.Errorf("SIZE %s, bytes=%s: got %q", size, spec, got.shown("Content-Range"))
				}
			}
		}
	}
	for spec, want := range map[string]string{"0-" + numbers[9]: "bytes 0-7/8|contents", "3-" + numbers[7]: "bytes 3-7/8|tents", "-" + numbers[6]: "bytes 0-7/8|contents", numbers[8] + "-": "bytes */8|the file has 8 bytes\n"} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}})
		if got := request(t.Context(), registered(t, &ftpexec.Client{}), "GET", s.URL("/f"), "Range: bytes="+spec); !strings.HasSuffix(got.shown("Content-Range"), want) {
			t.Errorf("bytes=%s: got %q, want %q", spec, got.shown("Content-Range"), want)
		}
	}
	t.Logf("%d ranges", n)
}

// TestRangeOfIgnoredREST asks for ranges where some servers behind a name accept REST and ignore it. The answer has the
// right bytes: of the range, with 206, or of the whole file.
func TestRangeOfIgnoredREST(t *testing.T) {
	contents := strings.Repeat("0123456789abcdefghijklm", 100)
	n, whole := 0, 0
	for k := 1; k <= 3; k++ {
		for _, x := range []struct{ first, last int }{{1, 1}, {1000, 1999}, {1, 2299}, {2299, 2299}} {
			for _, field := range []string{fmt.Sprintf("bytes=%d-%d", x.first, x.last), fmt.Sprintf("bytes=-%d", len(contents)-x.first)} {
				script := []testserver.Step{ftptest.Restarts(contents, nil)}
				for conn := k; conn < 20; conn += k {
					script = append(script, testserver.OnConn(conn, ftptest.Restarts(contents, ftptest.IgnoresREST)))
				}
				s := testserver.New(t, nil, script...)
				c := registered(t, &ftpexec.Client{MaxIdle: -1})
				for range 3 {
					n++
					got := request(t.Context(), c, "GET", s.URL("/f"), "Range: "+field)
					want := contents
					switch {
					case got.StatusCode == 200:
						whole++
					case field[6] == '-':
						want = contents[x.first:]
					default:
						want = contents[x.first : x.last+1]
					}
					if got.contents != want || got.err != nil {
						t.Errorf("%s, REST ignored on every connection of %d: %q, %d bytes, %v", field, k, got.Status, len(got.contents), got.err)
					}
				}
				s.Close()
			}
		}
	}
	t.Logf("%d requests, %d answered with the whole file", n, whole)
}
