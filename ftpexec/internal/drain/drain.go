// Package drain reads what is left of a transfer, if that keeps the connection for the next one.
package drain

import (
	"io"
	"time"
)

// Over is how many bytes are read and dropped at most, and wait how long Short may take, to keep a connection: a new
// one takes some six round trips.
const (
	Over = 256 << 10
	wait = time.Second
)

// Short reads body, which is at a position in a file of size bytes, to its end if at most Over bytes are left. A size
// of -1 is unknown and counts as large. The error is the error of body. The caller must close body.
func Short(body io.ReadCloser, size, at int64) error {
	if size < 0 || size-at > Over {
		return nil
	}
	late := time.AfterFunc(wait, func() { body.Close() })
	defer late.Stop()
	_, err := io.Copy(io.Discard, body)
	return err
}
