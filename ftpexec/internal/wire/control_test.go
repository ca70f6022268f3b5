package wire

import (
	"errors"
	"net"
	"testing"
	"time"
)

// A data connection that failed shortens the wait for the reply to its transfer, and for no other.
func TestFailedDataIsForgotten(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := New(Config{ReplyTimeout: time.Hour})
	if err := c.adopt(here); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	failed := errors.New("refused")
	c.dataFailed(failed)
	if err := c.timeout(time.Hour); !errors.Is(err, failed) {
		t.Errorf("during its transfer: %v, want %v", err, failed)
	}
	end := c.Begin(t.Context(), nil, false)
	defer end()
	if err := c.timeout(time.Hour); !errors.Is(err, ErrTimeout) || errors.Is(err, failed) {
		t.Errorf("in the next operation: %v, want ErrTimeout", err)
	}
}
