package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// The least rate applies on every way that data can take.
func TestMinRate(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents").
		With("RETR", testserver.Reply("150 x"), testserver.SendData("con"), testserver.StallData()).
		With("NLST", testserver.Reply("150 x"), testserver.SendData("a\r\nb"), testserver.StallData()))
	into := func(w io.Writer) func(context.Context, *ftpexec.Client, *urlparse.URL) error {
		return func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) error {
			r, err := c.Do(ctx, &ftpexec.Request{URL: u})
			if err != nil {
				return err
			}
			defer r.Body.Close()
			_, err = io.Copy(w, r.Body)
			return err
		}
	}
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tests := []struct {
		name, url string
		do        func(context.Context, *ftpexec.Client, *urlparse.URL) error
	}{
		{"into a writer", s.URL("/f"), into(io.Discard)},
		{"into a file", s.URL("/f"), into(f)},
		{"TLS", strings.Replace(s.URL("/f"), "ftp:", "ftpes:", 1), into(f)},
		{"ASCII", s.URL("/f;type=a"), into(f)},
		{"listing", s.URL("/"), func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) error {
			_, err := list(ctx, c, u)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := within(ample)
			c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
			c.MinRate = ftpexec.Rate{Bytes: 1000, Over: 50 * time.Millisecond}
			err := tt.do(t.Context(), c, parse(t, tt.url))
			var e *ftpexec.Error
			if !errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !e.Temporary() ||
				!strings.Contains(err.Error(), "bytes in 50ms, fewer than 1000 per second") {
				t.Errorf("error %v, want ErrTimeout, temporary", err)
			}
		})
	}
}
