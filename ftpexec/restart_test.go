package ftpexec_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// distinct returns text of n bytes in which no two stretches are the same.
func distinct(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%06d ", i)
	}
	return b.String()[:n]
}

// farms are the servers behind one name: where each of them begins if REST asks for an offset.
var farms = map[string]func(asked int64) int64{
	"honest":           nil,
	"from its start":   ftptest.IgnoresREST,
	"one early":        func(asked int64) int64 { return asked - 1 },
	"one late":         func(asked int64) int64 { return asked + 1 },
	"512 early":        func(asked int64) int64 { return asked - 512 },
	"at half":          func(asked int64) int64 { return asked / 2 },
	"nothing":          func(int64) int64 { return 1 << 30 },
	"16-bit":           func(asked int64) int64 { return asked & (1<<16 - 1) },
	"only if not last": func(asked int64) int64 { return min(asked, 1000) },
}

// TestOffsetProven retrieves files from an offset on where every kth server does not begin there. No program gets a
// wrong byte, whether it reads one byte, some or all.
func TestOffsetProven(t *testing.T) {
	n, refused := 0, 0
	for _, size := range []int{2, 3, 600, 70_000, 300_000} {
		contents := distinct(size)
		for name, begin := range farms {
			for _, k := range []int{1, 2, 3} {
				wrong := func(d *testserver.Dialogue) { ftptest.Restarts(contents, nil)(d) }
				script := []testserver.Step{wrong}
				for conn := k; conn < 60; conn += k {
					script = append(script, testserver.OnConn(conn, ftptest.Restarts(contents, begin)))
				}
				s := testserver.New(t, nil, script...)
				c := &ftpexec.Client{}
				for _, offset := range []int{1, size / 3, size - 2, size - 1, size} {
					for _, most := range []int64{1, 100, 1 << 20} {
						if offset < 1 {
							continue
						}
						n++
						got, err := readFrom(t, c, s, int64(offset), most)
						if err != nil {
							refused++
							if name == "honest" || !errors.Is(err, ftpexec.ErrNoRestart) && !errors.Is(err, ftpexec.ErrTruncated) {
								t.Errorf("%s, %d from %d, every %d: %v", name, size, offset, k, err)
							}
						}
						if rest := contents[offset:]; got != rest[:min(len(rest), len(got))] || err == nil && got == "" && rest != "" {
							t.Errorf("%s, %d from %d, every %d: got %.20q, %v", name, size, offset, k, got, err)
						}
					}
				}
				c.CloseIdleConnections()
				s.Close()
			}
		}
	}
	t.Logf("%d requests, %d refused", n, refused)
}

// readFrom reads most bytes from offset on.
func readFrom(t *testing.T, c *ftpexec.Client, s *testserver.Server, offset, most int64) (string, error) {
	r, err := c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/f")), Offset: offset})
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, most))
	return string(b), err
}

// TestProofCosts counts the round trips of a proof, and that one is enough for a connection.
func TestProofCosts(t *testing.T) {
	contents := distinct(2000)
	for _, scheme := range []string{"ftp", "ftpes"} {
		trips := map[bool]int{}
		for _, unproven := range []bool{true, false} {
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": contents}, Scheme: scheme, TLSConfig: &tls.Config{SessionTicketsDisabled: true}})
			c := &ftpexec.Client{MaxIdle: 1, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
			for i := range 3 {
				r := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/f")), Offset: 1000, Unproven: unproven}))(t)
				if b, err := io.ReadAll(r.Body); string(b) != contents[1000:] || err != nil {
					t.Errorf("got %d bytes, %v", len(b), err)
				}
				r.Body.Close()
				if i == 0 {
					trips[unproven] = roundTrips(s)
				}
			}
			rests := slices.DeleteFunc(s.Commands(), func(l string) bool { return !strings.HasPrefix(l, "REST") })
			want := []string{"REST 1000", "REST 1000", "REST 1000"}
			if !unproven {
				want = slices.Insert(want, 0, "REST 1999")
			}
			if !slices.Equal(rests, want) || s.Connections() != 1 {
				t.Errorf("%s, unproven %v: sent %q on %d connections, want %q on one", scheme, unproven, rests, s.Connections(), want)
			}
			c.CloseIdleConnections()
		}
		most := map[string]int{"ftp": 4, "ftpes": 5}[scheme]
		if cost := trips[false] - trips[true]; cost > most {
			t.Errorf("%s: %d round trips with a proof, %d without: more than %d", scheme, trips[false], trips[true], most)
		}
		t.Logf("%s: %d round trips with a proof, %d without", scheme, trips[false], trips[true])
	}
}

// A server that has once ignored REST gets no REST again, not even on a connection to another server of that name, and
// not for a caller that compares the bytes.
func TestIgnoredRESTIsRemembered(t *testing.T) {
	contents := distinct(2000)
	s := testserver.New(t, nil, ftptest.Restarts(contents, nil), testserver.OnConn(1, ftptest.Restarts(contents, ftptest.IgnoresREST)))
	c := &ftpexec.Client{MaxIdle: -1}
	for i := range 4 {
		_, err := c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/f")), Offset: 1000, Unproven: i > 1})
		if !errors.Is(err, ftpexec.ErrNoRestart) || ftpexec.Retryable(err) {
			t.Errorf("request %d: %v, want ErrNoRestart", i, err)
		}
	}
	wantContents2000(t, c, s, contents)
	if n := s.Connections(); n != 2 {
		t.Errorf("%d connections, want 2: the proof, and the whole file", n)
	}
}

func wantContents2000(t *testing.T, c *ftpexec.Client, s *testserver.Server, want string) {
	t.Helper()
	if got, err := read(t.Context(), c, parse(t, s.URL("/f"))); got != want || err != nil {
		t.Errorf("whole file: %d bytes, %v", len(got), err)
	}
}

// The size for the proof comes from SIZE, MLST or the caller. Without one there is no proof.
func TestProofNeedsSize(t *testing.T) {
	const size = 2000
	contents := distinct(size)
	no := testserver.Reply("502 unknown")
	honest := ftptest.Restarts(contents, nil).With("SIZE", no)
	mlst := testserver.Reply("250-x\r\n type=file;size=2000; f\r\n250 End")
	for _, tt := range []struct {
		name string
		step testserver.Step
		size int64
		want error
	}{
		{"MLST", honest.With("MLST", mlst), 0, nil},
		{"the caller", honest, size, nil},
		{"nobody", honest, 0, ftpexec.ErrNoRestart},
		{"a caller who is wrong", honest, size + 1, ftpexec.ErrTruncated},
		{"another than the caller's", honest.With("MLST", mlst), size + 1, ftpexec.ErrChanged},
	} {
		for _, scheme := range []string{"ftp", "ftpes"} {
			s := testserver.New(t, nil, tt.step)
			c := &ftpexec.Client{TLSConfig: &tls.Config{RootCAs: s.RootCAs()}}
			u := parse(t, s.URL("/f"))
			u.Scheme = scheme
			r, err := c.Do(t.Context(), &ftpexec.Request{URL: u, Offset: 1000, Size: tt.size})
			if err == nil {
				b, _ := io.ReadAll(r.Body)
				r.Body.Close()
				if string(b) != contents[1000:] {
					t.Errorf("%s, %s: got %.20q", tt.name, scheme, b)
				}
			}
			if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Errorf("%s, %s: got %v, want %v", tt.name, scheme, err, tt.want)
			}
			c.CloseIdleConnections()
		}
	}
}

// Some servers read an offset as a 32-bit number. So a proof below 2 GiB does not hold above.
func TestProofOfLargeOffsets(t *testing.T) {
	const small, large = 2000, 5 << 30
	contents := distinct(small)
	size := func(c *testserver.Conn) error {
		return testserver.Reply(fmt.Sprintf("213 %d", map[string]int64{"f": small, "g": large}[c.Arg]))(c)
	}
	wraps := ftptest.Restarts(contents, func(asked int64) int64 { return asked & (1<<32 - 1) % small })
	s := testserver.New(t, nil, wraps.With("SIZE", size))
	c := &ftpexec.Client{}
	defer c.CloseIdleConnections()
	if got, err := readFrom(t, c, s, 1000, small); got != contents[1000:] || err != nil {
		t.Errorf("got %.20q, %v", got, err)
	}
	_, err := c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/g")), Offset: large - 1<<30})
	if !errors.Is(err, ftpexec.ErrNoRestart) {
		t.Errorf("got %v, want ErrNoRestart", err)
	}
}
