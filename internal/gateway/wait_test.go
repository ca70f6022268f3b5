package gateway_test

import (
	"bufio"
	"context"
	"errors"
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

// slowly answers a request on conn with header and then n bytes, each after a pause, and waits for the client to hang up.
func slowly(conn net.Conn, header string, n int, pause time.Duration) {
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
	_, _ = io.WriteString(conn, header)
	for range n {
		select {
		case <-time.After(pause):
			_, _ = io.WriteString(conn, "x")
		case <-gone:
			return
		}
	}
	<-gone
}

// TestWaits checks how long a proxy may take for the header and for each byte of 100.
func TestWaits(t *testing.T) {
	const header = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
	tests := []struct {
		name, header string
		n            int
		pause        time.Duration
		want         string // the error; "" for none
		at           time.Duration
	}{
		{"no header", "", 0, 0, "no answer in time", time.Minute},
		{"a header that stops", header[:17], 0, 0, "no answer in time", time.Minute},
		{"no byte", header, 0, 0, "timed out: no data for 1m0s", time.Minute},
		{"no byte after some", header, 1, 30 * time.Second, "timed out: no data for 1m0s", 90 * time.Second},
		{"slow", header, 100, 59 * time.Second, "", 5900 * time.Second},
	}
	p, err := proxy.Parse("http://proxy.test")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			src := gateway.New(&ftpexec.Client{}, p, func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go slowly(far, tt.header, tt.n, tt.pause)
				return near, nil
			})
			src.Always = true
			defer src.CloseIdleConnections()
			begun, n := time.Now(), int64(0)
			r, err := src.Do(t.Context(), &ftpexec.Request{URL: urlOf(t, "ftp://h/f")})
			if err == nil {
				n, err = io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
			var e *ftpexec.Error
			switch {
			case tt.want == "" && (err != nil || n != 100):
				t.Errorf("%s: got %d bytes, %v", tt.name, n, err)
			case tt.want != "" && (!errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !e.Temporary() || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
			}
			if took := time.Since(begun); took != tt.at {
				t.Errorf("%s: after %v, want %v", tt.name, took, tt.at)
			}
		})
	}
}
