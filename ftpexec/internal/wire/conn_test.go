package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A failed data connection shortens the wait for the reply to its transfer, but for no other. An operation whose
// context has ended leaves no Conn that looks usable, though it may be closed only later.
func TestBegin(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := New(Config{Timeout: time.Hour})
	if err := c.adopt(here); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	failed := errors.New("refused")
	c.dataFailed(failed)
	if err := c.late(time.Hour); !errors.Is(err, failed) {
		t.Errorf("during its transfer: %v, want %v", err, failed)
	}
	stop := c.Begin(t.Context())
	defer stop()
	if err := c.late(time.Hour); !errors.Is(err, ErrTimeout) || errors.Is(err, failed) {
		t.Errorf("in the next operation: %v, want ErrTimeout", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.Begin(ctx)(); !errors.Is(c.Err(), ErrLost) {
		t.Errorf("after the end of a context: %v, want ErrLost", c.Err())
	}
}

// A transfer may take long to start. Any other reply of a flight that does not come counts as lost.
func TestPatience(t *testing.T) {
	size, mdtm, retr := Line{Text: "SIZE f"}, Line{Text: "MDTM f"}, Line{Text: "RETR f", Transfer: true}
	for _, tt := range []struct {
		out  []Line
		size int
		want time.Duration
	}{
		{[]Line{size, mdtm}, 2, time.Minute}, // no reply has come yet
		{[]Line{mdtm, retr}, 3, aheadTimeout},
		{[]Line{retr}, 3, time.Minute},
		{[]Line{size}, 1, time.Minute},
	} {
		c := &Conn{cfg: Config{Timeout: time.Minute}, out: tt.out, flightSize: tt.size}
		if got := c.patience(); got != tt.want {
			t.Errorf("%v of %d: %v, want %v", tt.out, tt.size, got, tt.want)
		}
	}
}

// drip is a number of bytes that a server sends after a pause.
type drip struct {
	after time.Duration
	bytes int
}

// TestMinRate has a server send drips to a reader that pauses after each Read.
func TestMinRate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rate   int64
		reader time.Duration // its pause after each Read
		drips  []drip
		want   string        // the error; "" for none
		at     time.Duration // when the reader has it
	}{
		{name: "no least rate", drips: drips(10, 59*time.Second, 1)},
		{name: "no least rate, nothing comes", drips: []drip{{2 * time.Minute, 1}}, want: "timed out: no data for 1m", at: time.Minute},
		{name: "a byte a minute", rate: 1, drips: drips(10, 59*time.Second, 1), want: "timed out: 0 bytes in 30s, fewer than 1 per second", at: 30 * time.Second},
		{name: "just too slow", rate: 10, drips: drips(100, 1100*time.Millisecond, 10), want: "timed out: 270 bytes in 30s, fewer than 10 per second", at: 30 * time.Second},
		{name: "just fast enough", rate: 10, drips: drips(100, 1100*time.Millisecond, 12)},
		{name: "fast, then nothing", rate: 10, drips: []drip{{time.Second, 4000}, {40 * time.Second, 1}}, want: "timed out: 0 bytes in 30s, fewer than 10 per second", at: 31 * time.Second},
		{name: "a pause in between", rate: 10, drips: append(drips(50, time.Second, 20), append([]drip{{15 * time.Second, 1}}, drips(50, time.Second, 40)...)...)},
		{name: "a slow reader", rate: 10, reader: time.Hour, drips: drips(20, 0, 1)},
		{name: "a slow reader and a fast server", rate: 10, reader: time.Hour, drips: drips(100, 4*time.Second, 1)},
		{name: "a slow reader that has to wait all the same", rate: 10, reader: time.Hour, drips: append(drips(1, 4*time.Second, 1), drips(100, time.Hour+4*time.Second, 1)...),
			want: "timed out: 7 bytes in 30s, fewer than 10 per second", at: 7*(time.Hour+4*time.Second) + 2*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				var server sync.WaitGroup
				defer server.Wait()
				server.Go(func() {
					defer there.Close()
					for _, d := range tt.drips {
						<-time.After(d.after)
						if _, err := there.Write(make([]byte, d.bytes)); err != nil {
							return
						}
					}
				})
				c := New(Config{ConnectTimeout: time.Second, Timeout: time.Minute, MinRate: tt.rate, RateTime: 30 * time.Second})
				d := c.openData(t.Context(), nil, func(context.Context) (net.Conn, error) { return here, nil })
				defer d.Close()
				start := time.Now()
				err := readAll(d, tt.drips, tt.reader)
				if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrTimeout) || err.Error() != tt.want) {
					t.Fatalf("error %v, want %q", err, tt.want)
				}
				if at := time.Since(start); tt.want != "" && at != tt.at {
					t.Errorf("after %v, want %v", at, tt.at)
				}
			})
		})
	}
}

// drips returns n equal drips.
func drips(n int, after time.Duration, bytes int) []drip {
	all := make([]drip, n)
	for i := range all {
		all[i] = drip{after, bytes}
	}
	return all
}

// readAll reads until the end, with a pause after each Read.
func readAll(r io.Reader, drips []drip, pause time.Duration) error {
	left := 0
	for _, d := range drips {
		left += d.bytes
	}
	for left > 0 {
		n, err := r.Read(make([]byte, 4096))
		if err != nil {
			return err
		}
		left -= n
		<-time.After(pause)
	}
	return nil
}

// Data connections offer the key exchange that the server has already accepted, because a HelloRetryRequest costs a
// round trip.
func TestDataTLSOffersTheAgreedKeyExchange(t *testing.T) {
	for _, tt := range []struct {
		name    string
		control tls.ConnectionState
		want    []tls.CurveID
	}{
		{"TLS 1.3", tls.ConnectionState{Version: tls.VersionTLS13, CurveID: tls.CurveP256}, []tls.CurveID{tls.CurveP256}},
		{"TLS 1.2", tls.ConnectionState{Version: tls.VersionTLS12, CurveID: tls.CurveP256}, []tls.CurveID{tls.X25519}},
		{"not known", tls.ConnectionState{Version: tls.VersionTLS13}, []tls.CurveID{tls.X25519}},
	} {
		config := &tls.Config{ServerName: "h", CurvePreferences: []tls.CurveID{tls.X25519}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		got := dataTLS(config, tt.control)
		if !slices.Equal(got.CurvePreferences, tt.want) || got.ServerName != "h" || got.ClientSessionCache != config.ClientSessionCache {
			t.Errorf("%s: offers %v, want %v", tt.name, got.CurvePreferences, tt.want)
		}
	}
}

func reader(s string) *lineReader {
	return &lineReader{Reader: bufio.NewReaderSize(strings.NewReader(s), maxLine), more: func() {}}
}

func unmasked(text string) string { return text }

func TestReadReply(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     Reply
	}{
		{"one line", "200 ok\r\n", Reply{Code: 200, Text: "ok"}},
		{"no text", "200 \r\n", Reply{Code: 200, Text: ""}},
		{"code alone", "200\r\n", Reply{Code: 200, Text: ""}},
		{"LF alone", "200 ok\n", Reply{Code: 200, Text: "ok"}},
		{"two CR", "200 ok\r\r\n", Reply{Code: 200, Text: "ok"}},
		{"many lines", "211-Features:\r\n MDTM\r\n SIZE\r\n211 End\r\n", Reply{Code: 211, Text: "Features:\n MDTM\n SIZE\nEnd"}},
		{"code on every line", "230-a\r\n230-b\r\n230 c\r\n", Reply{Code: 230, Text: "a\n230-b\nc"}},
		{"other code inside", "230-a\r\n220 b\r\n230 c\r\n", Reply{Code: 230, Text: "a\n220 b\nc"}},
		{"ends in the code alone", "230-a\r\n230\r\n", Reply{Code: 230, Text: "a\n"}},
		{"the lowest code", "100 x\r\n", Reply{Code: 100, Text: "x"}},
		{"the highest code", "599 x\r\n", Reply{Code: 599, Text: "x"}},
		{"bytes", "250 \xe9\x00\x1b[2J\xff\r\n", Reply{Code: 250, Text: "\xe9\x00\x1b[2J\xff"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readReply(reader(tt.in), unmasked)
			if got.Raw = ""; err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestReadReplyRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, reason string }{
		{"no code", "hello\r\n", "three digits"},
		{"short", "20\r\n", "three digits"},
		{"code 000", "000 x\r\n", "from 100 to 599"},
		{"code 099", "099 x\r\n", "from 100 to 599"},
		{"code 600", "600 x\r\n", "from 100 to 599"},
		{"code 999", "999 x\r\n", "from 100 to 599"},
		{"four digits", "2000 x\r\n", "a space or hyphen"},
		{"empty line", "\r\n", "three digits"},
		{"endless line", "200 " + strings.Repeat("x", maxLine), "line too long"},
		{"endless reply", "200-\r\n" + strings.Repeat("more\r\n", maxReply), "reply too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readReply(reader(tt.in), unmasked)
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("error %v, want one that says %q", err, tt.reason)
			}
			if len(err.Error()) > 500 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
	for _, in := range []string{"", "220", "220-a\r\n", "220-a\r\n220"} {
		if _, err := readReply(reader(in), unmasked); !errors.Is(err, io.EOF) {
			t.Errorf("%q: error %v, want EOF", in, err)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	for _, s := range []string{
		"200 ok\r\n", "211-Features:\r\n MDTM\r\n211 End\r\n", "220-a\r\n220\r\n", "999 x\r\n", "227 (1,2,3\r\n", "\r\n\r\n",
		"257 x\r\n", "229 (|||99999|)\r\n", "230-\x00\xff\r\n230 \r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := reader(s)
		for {
			reply, err := readReply(r, unmasked)
			if err != nil {
				return
			}
			checkReply(t, reply)
		}
	})
}

// checkReply checks that a reply is within its limits.
func checkReply(t *testing.T, r Reply) {
	if r.Code < 100 || r.Code > 599 || len(r.Text) > maxReply || strings.Contains(r.String(), "\n") {
		t.Fatalf("reply out of bounds: %+v", r)
	}
}

func TestSecrets(t *testing.T) {
	var s Secrets
	for _, secret := range []string{"ab", "pass", "password", "", "pass"} {
		s.Add(secret)
	}
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {"ab and pass", "ab and " + stars}, {"the password", "the " + stars}, {"passpass", stars + stars}, {"no", "no"},
	} {
		if got := s.Mask(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// The secret used longest ago is forgotten first.
func TestSecretsAreBounded(t *testing.T) {
	const most = 1024 // as SECURITY.md says
	var s Secrets
	for i := range most + 1 {
		s.Add(fmt.Sprintf("<%d>", i))
		s.Add("<first>")
	}
	if kept := len(s.used()); kept != most {
		t.Errorf("%d secrets are kept, want %d", kept, most)
	}
	if got := s.Mask("<0> <first>"); !strings.HasPrefix(got, "<0>") || strings.Contains(got, "first") {
		t.Errorf("got %q", got)
	}
	if got, last := s.Mask(fmt.Sprintf("<%d>", most)), stars; got != last {
		t.Errorf("the latest is shown: %q", got)
	}
}
