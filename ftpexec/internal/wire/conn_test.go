package wire

import (
	"errors"
	"net"
	"testing"
	"time"
)

// A failed data connection shortens the wait for the reply to its transfer, but for no other.
func TestFailedDataIsForgotten(t *testing.T) {
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
}

// A transfer may take long to start. Another reply of a flight that does not come is lost.
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
