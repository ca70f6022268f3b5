//go:build unix

package batch

import (
	"errors"
	"os"
	"testing"

	"example.com/ftpfetch/download"
)

// TestLedgerFlushed checks that a record counts only once it has been flushed to
// the disk: a pipe takes the record, but cannot be flushed.
func TestLedgerFlushed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := (&Ledger{own: w}).add(record{Path: "f"}); !errors.Is(err, download.ErrLocal) {
		t.Errorf("got %v, want the failure of the flush", err)
	}
}
