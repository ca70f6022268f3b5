package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// follow retrieves a whole file and says whether more follow.
func follow(ctx context.Context, t *testing.T, from opener, rawURL string, more int) (string, error) {
	t.Helper()
	r, err := from.Do(ctx, &ftpexec.Request{URL: parse(t, rawURL), More: func() bool { return more > 0 }})
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	contents, err := io.ReadAll(r.Body)
	return string(contents), err
}

// patient sends the final reply only when EPSV has come.
func patient(t *testing.T, s **testserver.Server) testserver.Step {
	wait := func() {
		if err := (*s).WaitCommand(t.Context(), "EPSV"); err != nil {
			t.Error(err)
		}
	}
	return testserver.On("RETR", testserver.Reply("150 x"), ftptest.Call(func() { (*s).ResetCommands() }),
		testserver.Data("contents", testserver.Closed), ftptest.Call(wait), testserver.Reply("226 y"))
}

// The next file's EPSV is sent at the end of the data, before the final reply. Then the next file takes one flight
// more.
func TestFollows(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		for _, next := range []struct{ path, want string }{
			{"/a/g", "EPSV | SIZE g,MDTM g,RETR g"},
			{"/a/b/g", "EPSV | CWD b,SIZE g,MDTM g | RETR g"},
			{"/c/g", "EPSV | CWD /,CWD c,SIZE g,MDTM g | RETR g"},
			{"/a/g;type=a", "EPSV | TYPE A,MDTM g | RETR g"},
			{"/a/missing/", "EPSV | FEAT,CWD missing,TYPE A | OPTS UTF8 ON,NLST"},
		} {
			var s *testserver.Server
			s = network.NewScript(t, testserver.Honest("contents"), patient(t, &s), testserver.On("RETR g", testserver.Transfer("contents")))
			c := closing(t, &ftpexec.Client{Dial: network.Dial, MaxIdle: 1})
			if got, err := follow(t.Context(), t, c, s.URL("/a/f"), 1); err != nil || got != "contents" {
				t.Fatalf("got %q, %v", got, err)
			}
			if _, err := do(t.Context(), c, parse(t, s.URL(next.path))); err != nil {
				t.Errorf("%s: %v", next.path, err)
			}
			var flights []string
			for _, f := range s.Flights() {
				flights = append(flights, strings.Join(f, ","))
			}
			if got := strings.Join(flights, " | "); got != next.want {
				t.Errorf("%s: sent %s, want %s", next.path, got, next.want)
			}
		}
	})
}

// Nothing is sent ahead if it could not be used, or might do harm.
func TestFollowsSendsNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    *ftpexec.Client
		path string
		more func() bool
		step testserver.Step
	}{
		{"nothing follows", &ftpexec.Client{MaxIdle: 1}, "/f", func() bool { return false }, testserver.On("X")},
		{"not told", &ftpexec.Client{MaxIdle: 1}, "/f", nil, testserver.On("X")},
		{"one command at a time", &ftpexec.Client{MaxIdle: 1, NoPipelining: true}, "/f", always, testserver.On("X")},
		{"a kind of server that needs that", &ftpexec.Client{MaxIdle: 1}, "/f", always, testserver.On("", testserver.Reply("220 MikroTik"))},
		{"no connection is kept", &ftpexec.Client{MaxIdle: -1}, "/f", always, testserver.On("X")},
		{"unknown size", &ftpexec.Client{MaxIdle: 1}, "/f", always, testserver.On("SIZE", testserver.Reply("550 no"))},
		{"text", &ftpexec.Client{MaxIdle: 1}, "/f;type=a", always, testserver.On("X")},
		{"truncated", &ftpexec.Client{MaxIdle: 1}, "/f", always, testserver.On("SIZE", testserver.Reply("213 9"))},
	} {
		inMemory(t, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), tt.step)
			tt.c.Dial = network.Dial
			r := must.Get(tt.c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL(tt.path)), More: tt.more}))(t)
			if _, err := io.ReadAll(r.Body); tt.name == "truncated" != (err != nil) {
				t.Errorf("%s: %v", tt.name, err)
			}
			tt.c.CloseIdleConnections()
			r.Body.Close()
			synctest.Wait() // the server has read all that was sent
			if n := count(s.Commands(), "EPSV"); n != 1 {
				t.Errorf("%s: %d EPSVs: %q", tt.name, n, s.Commands())
			}
		})
	}
}

func always() bool { return true }

// Whatever a server does about an early EPSV, the files come whole, and the client sends no PASV because of it. A
// server that does not accept an early EPSV gets it only once.
func TestFollowsOnOddServers(t *testing.T) {
	transfer := func(end ...testserver.Action) testserver.Step {
		return testserver.On("#1 RETR", append([]testserver.Action{testserver.Reply("150 x"), testserver.Data("contents", testserver.Closed)}, end...)...)
	}
	early := func(answer ...testserver.Action) testserver.Step { return testserver.On("#2 EPSV", answer...) }
	steps := func(all ...testserver.Step) testserver.Step {
		return func(d *testserver.Dialogue) {
			for _, step := range all {
				step(d)
			}
		}
	}
	reply := testserver.Reply
	for _, tt := range []struct {
		name  string
		first testserver.Step // on the first connection
		conns int
		sets  int // EPSVs for four files; 0 if it depends on chance how many the server sees
	}{
		{"accepts it", steps(), 1, 4},
		{"425", early(reply("425 busy")), 1, 5},
		{"503", early(reply("503 not now")), 1, 5},
		{"500", early(reply("500 what")), 1, 5},
		{"no port in the reply", early(reply("229 ()")), 1, 5},
		{"refuses it before the final reply", steps(transfer(reply("425 busy\r\n226 done")), early()), 1, 5},
		{"says 450 before the final reply", steps(transfer(reply("450 busy"), reply("226 done")), early()), 1, 5},
		{"accepts it before the final reply", steps(transfer(testserver.Reply("229 (|||{port}|)"), reply("226 done")), early()), 2, 5},
		{"a preliminary reply", early(reply("150 what")), 2, 5},
		{"no reply", early(), 2, 5},
		{"hangs up instead", early(testserver.EndControl(testserver.Closed)), 2, 5},
		{"hangs up after 226", transfer(reply("226 done"), testserver.EndControl(testserver.Closed)), 2, 0},
		{"421 instead", early(reply("421 that is too much")), 2, 5},
		{"a port that cannot be reached", early(reply("229 (|||1|)")), 2, 5},
	} {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, tt.first))
			session := closing(t, &ftpexec.Client{Dial: network.Dial})
			for more := 3; more >= 0; more-- {
				if got, err := follow(t.Context(), t, session, s.URL("/a/f"), more); err != nil || got != "contents" {
					t.Fatalf("got %q, %v", got, err)
				}
			}
			sets := count(s.Commands(), "EPSV")
			if s.Connections() != tt.conns || tt.sets > 0 && sets != tt.sets || slices.Contains(s.Commands(), "PASV") {
				t.Errorf("%d connections, %d times EPSV, want %d, %d: %q", s.Connections(), sets, tt.conns, tt.sets, s.Commands())
			}
		})
	}
}

// A final reply that is not positive belongs to the transfer, even if the server then refuses or accepts EPSV.
func TestFollowsAfterAFailure(t *testing.T) {
	for _, end := range []string{"451 disk error", "426 aborted\r\n229 (|||1234|)", "425 no\r\n503 no", "426 aborted\r\n226 closed", "551 no\r\n226 closed", "500 no\r\n421 bye"} {
		inMemory(t, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, testserver.On("RETR", testserver.Reply("150 x"),
				testserver.Data("contents", testserver.Closed), testserver.Reply(end)), testserver.On("#2 EPSV")))
			session := closing(t, &ftpexec.Client{Dial: network.Dial})
			if _, err := follow(t.Context(), t, session, s.URL("/a/f"), 1); !errors.Is(err, ftpexec.ErrTruncated) {
				t.Errorf("%q: %v, want ErrTruncated", end, err)
			}
			if got, err := follow(t.Context(), t, session, s.URL("/a/f"), 1); err != nil || got != "contents" || s.Connections() != 2 {
				t.Errorf("%q: then %q, %v on %d connections", end, got, err, s.Connections())
			}
		})
	}
}

// Between the files anything may happen: the end of a context, other calls, a pause, Close.
func TestFollowsBetween(t *testing.T) {
	for name, between := range map[string]func(ctx context.Context, c *ftpexec.Client, file, missing *urlparse.URL) (err, want error){
		"cancelled run": func(ctx context.Context, c *ftpexec.Client, file, _ *urlparse.URL) (err, want error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err = c.Do(ctx, &ftpexec.Request{URL: file})
			return err, context.Canceled
		},
		"facts": func(ctx context.Context, c *ftpexec.Client, file, _ *urlparse.URL) (err, want error) {
			_, err = c.Stat(ctx, file)
			return err, nil
		},
		"refusal": func(ctx context.Context, c *ftpexec.Client, _, missing *urlparse.URL) (err, want error) {
			_, err = c.Stat(ctx, missing)
			return err, ftpexec.ErrDirectory
		},
		"pause": func(context.Context, *ftpexec.Client, *urlparse.URL, *urlparse.URL) (err, want error) {
			<-time.After(time.Hour)
			return nil, nil
		},
		"close": func(_ context.Context, c *ftpexec.Client, _, _ *urlparse.URL) (err, want error) {
			c.CloseIdleConnections()
			return nil, nil
		},
	} {
		inMemory(t, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.On("^CWD missing", testserver.Reply("550 no")))
			c := closing(t, &ftpexec.Client{Dial: network.Dial})
			for range 2 {
				if got, err := follow(t.Context(), t, c, s.URL("/a/f"), 1); err != nil || got != "contents" {
					t.Errorf("%s: got %q, %v", name, got, err)
				}
				if err, want := between(t.Context(), c, parse(t, s.URL("/a/f")), parse(t, s.URL("/a/missing/f"))); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
		})
	}
}

// The context of a file ends after the file: the connection and its early EPSV stay.
func TestFollowsAfterTheContext(t *testing.T) {
	s := sessionServer(t)
	session := closing(t, &ftpexec.Client{})
	for i, path := range []string{"/a/f", "/a/g", "/a/b/h"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := follow(ctx, t, session, s.URL(path), 2-i)
		if cancel(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Connections() != 1 || count(s.Commands(), "EPSV") != 3 {
		t.Errorf("commands %q on %d connections", s.Commands(), s.Connections())
	}
}

func TestFollowsUnderTLS(t *testing.T) {
	for _, noEPSV := range []bool{false, true} {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a/f": "contents"}, Scheme: "ftpes"})
		session := closing(t, &ftpexec.Client{NoEPSV: noEPSV, TLSConfig: &tls.Config{RootCAs: s.RootCAs()}})
		for more := 2; more >= 0; more-- {
			if got, err := follow(t.Context(), t, session, s.URL("/a/f"), more); err != nil || got != "contents" {
				t.Fatalf("got %q, %v", got, err)
			}
		}
		verb := map[bool]string{false: "EPSV", true: "PASV"}[noEPSV]
		if s.Connections() != 1 || count(s.Commands(), verb) != 3 {
			t.Errorf("commands %q on %d connections, want %s three times on one", s.Commands(), s.Connections(), verb)
		}
	}
}

// The port that an early EPSV asks for is not waited for as long as another one: neither for the reply, nor for the
// connection. The file then comes over a new connection.
func TestFollowsSoon(t *testing.T) {
	for name, step := range map[string]testserver.Step{
		"no reply":         testserver.OnConn(1, testserver.On("#2 EPSV")),
		"the port is shut": testserver.On("X"),
	} {
		inMemory(t, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), step)
			dials := 0
			c := &ftpexec.Client{MaxIdle: 1, Dial: func(ctx context.Context, protocol, address string) (net.Conn, error) {
				if dials++; dials == 3 && name != "no reply" {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return network.Dial(ctx, protocol, address)
			}}
			begun := time.Now()
			for range 2 {
				r := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/f")), More: always}))(t)
				if got := string(must.Get(io.ReadAll(r.Body))(t)); got != "contents" {
					t.Errorf("%s: got %q", name, got)
				}
				r.Body.Close()
			}
			if took := time.Since(begun); took < time.Second || took > 3*time.Second || s.Connections() != 2 {
				t.Errorf("%s: it took %v, over %d connections", name, took, s.Connections())
			}
			c.CloseIdleConnections()
		})
	}
}
