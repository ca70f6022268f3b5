package gateway_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/gateway"
	"example.com/ftpfetch/internal/proxy"
)

// slowProxy is a proxy in memory that answers a GET with steps, each after a pause, and then is silent. It refuses
// CONNECT.
func slowProxy(t *testing.T, steps []step) *gateway.Source {
	t.Helper()
	p, err := proxy.Parse("http://proxy.test")
	if err != nil {
		t.Fatal(err)
	}
	src := gateway.New(&ftpexec.Client{}, p, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go answerSlowly(far, steps)
		return near, nil
	})
	src.Always = true
	return src
}

// answerSlowly answers one request, until the client hangs up.
func answerSlowly(conn net.Conn, steps []step) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	if _, err := http.ReadRequest(r); err != nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, r)
	}()
	for _, s := range steps {
		select {
		case <-time.After(s.after):
			_, _ = io.WriteString(conn, s.text)
		case <-gone:
			return
		}
	}
	<-gone
}

// step is what a proxy sends after a pause.
type step struct {
	after time.Duration
	text  string
}

// steps returns n equal steps.
func steps(n int, after time.Duration, text string) []step {
	all := make([]step, n)
	for i := range all {
		all[i] = step{after, text}
	}
	return all
}

// TestWaits checks how long a proxy may take for the header and for each byte.
func TestWaits(t *testing.T) {
	header := step{0, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"}
	tests := []struct {
		name   string
		steps  []step
		reader time.Duration // its pause after each Read
		want   string        // the error; "" for none
		at     time.Duration
	}{
		{"no header", nil, 0, "no answer in time", time.Minute},
		{"a header that stops", []step{{time.Second, "HTTP/1.1 200 OK\r\n"}}, 0, "no answer in time", time.Minute},
		{"no byte", []step{header}, 0, "timed out: no data for 1m0s", time.Minute},
		{"no byte after some", []step{header, {30 * time.Second, "some"}}, 0, "timed out: no data for 1m0s", 90 * time.Second},
		{"slow", append([]step{header}, steps(100, 59*time.Second, "x")...), 0, "", 5900 * time.Second},
		{"a slow reader", append([]step{header}, steps(100, 0, "x")...), time.Hour, "", 99 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := slowProxy(t, tt.steps)
				defer src.CloseIdleConnections()
				begun := time.Now()
				n, err := readSlowly(t, src, tt.reader)
				var e *ftpexec.Error
				switch {
				case tt.want == "" && (err != nil || n != 100):
					t.Errorf("got %d bytes, %v", n, err)
				case tt.want != "" && (!errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !e.Temporary() || !strings.Contains(fmt.Sprint(err), tt.want)):
					t.Errorf("got %v, want %s", err, tt.want)
				}
				if took := time.Since(begun); took != tt.at {
					t.Errorf("after %v, want %v", took, tt.at)
				}
			})
		})
	}
}

// readSlowly reads a file, with a pause after each Read.
func readSlowly(t *testing.T, src *gateway.Source, pause time.Duration) (n int, err error) {
	r, err := src.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, "ftp://h/f")})
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	for buf := make([]byte, 10); ; {
		some, err := r.Body.Read(buf)
		n += some
		switch {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		}
		<-time.After(pause)
	}
}
