package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// greets returns a Fault that sends a first line of the greeting, unless it is "", and the rest after some time.
func greets(after time.Duration, first string) func(*testserver.Conn) testserver.Action {
	return func(c *testserver.Conn) testserver.Action {
		if c.Verb != "" {
			return nil
		}
		_, _ = c.Write([]byte(first))
		<-time.After(after)
		return testserver.Reply("220 ready")
	}
}

// TestTLSFirst connects without TLS to servers that wait for TLS. They are recognized over a second connection.
func TestTLSFirst(t *testing.T) {
	old := &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10} // answers with an alert
	for name, tt := range map[string]struct {
		server *tls.Config
		try    bool
		scheme string
	}{
		"TLS":                     {nil, false, "ftp"},
		"TLS, asked for by AUTH":  {nil, false, "ftpes"},
		"TLS, which may be tried": {nil, true, "ftp"},
		"an old TLS":              {old, false, "ftp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testserver.New(t, &testserver.Options{Scheme: "ftps", TLSConfig: tt.server, Tree: tree})
			c := closing(t, &ftpexec.Client{Timeout: 2 * time.Second, TryTLS: tt.try})
			_, err := read(t.Context(), c, parse(t, tt.scheme+"://"+s.Addr()+"/a/f"))
			var e *ftpexec.Error
			if !errors.Is(err, ftpexec.ErrTLSRequired) || !errors.Is(err, ftpexec.ErrConnect) || ftpexec.Retryable(err) || !errors.As(err, &e) {
				t.Fatalf("got %v, want %v", err, ftpexec.ErrTLSRequired)
			}
			if want := "write ftps://" + s.Addr() + "/a/f"; e.Hint != want || s.Connections() != 2 {
				t.Errorf("the hint is %s after %d connections, want %s after 2", e.Hint, s.Connections(), want)
			}
		})
	}
}

// TestLateGreetings connects to servers that send no greeting at once and do not wait for TLS. Each has all its time, and
// gets at most one further connection.
func TestLateGreetings(t *testing.T) {
	stalled := func(*testserver.Conn) testserver.Action { return testserver.EndControl(testserver.Stalled) }
	admit := func(context.Context, string) (func(), error) { return nil, nil }
	for _, tt := range []struct {
		name        string
		fault       func(*testserver.Conn) testserver.Action
		client      *ftpexec.Client
		want        error
		took        time.Duration
		connections int
	}{
		{"silence", stalled, &ftpexec.Client{}, ftpexec.ErrSilent, time.Minute, 2},
		{"silence, and little time", stalled, &ftpexec.Client{Timeout: 4 * time.Second}, ftpexec.ErrSilent, 4 * time.Second, 2},
		{"silence, and a caller that counts connections", stalled, &ftpexec.Client{Admit: admit}, ftpexec.ErrSilent, time.Minute, 1},
		{"a slow server", greets(50*time.Second, ""), &ftpexec.Client{}, nil, 50 * time.Second, 2},
		{"a greeting that begins at once", greets(50*time.Second, "220-Please wait.\r\n"), &ftpexec.Client{}, nil, 50 * time.Second, 1},
		{"a greeting in time", greets(4*time.Second, ""), &ftpexec.Client{}, nil, 4 * time.Second, 1},
	} {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			s := testserver.New(t, &testserver.Options{Listen: network.Listen, Tree: tree, Fault: tt.fault})
			c := closing(t, tt.client)
			c.Dial = network.Dial
			start := time.Now()
			_, err := read(t.Context(), c, parse(t, s.URL("/a/f")))
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if took := time.Since(start).Round(time.Second); took != tt.took || s.Connections() != tt.connections {
				t.Errorf("it took %v and %d connections, want %v and %d", took, s.Connections(), tt.took, tt.connections)
			}
		})
	}
}

// TestGreetsAgain checks that a server that has sent a greeting once is not asked for TLS, however late the next one is.
func TestGreetsAgain(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		s := testserver.New(t, &testserver.Options{Listen: network.Listen, Tree: tree, Fault: func(c *testserver.Conn) testserver.Action {
			if c.Verb == "" && c.Num == 2 {
				<-time.After(50 * time.Second)
			}
			return nil
		}})
		c := closing(t, &ftpexec.Client{Dial: network.Dial, MaxIdle: -1})
		for range 2 {
			wantContents(t, c, parse(t, s.URL("/a/f")))
		}
		if n := s.Connections(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}
