//go:build unix

package download_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestOnceOpenLedger checks that a ledger that others may write to stops the run, and is not simply ignored.
func TestOnceOpenLedger(t *testing.T) {
	s := newOnceStand(t, testserver.Options{})
	s.run(t.Context(), fileOf(s.url("/d/a"), "a"))
	name := filepath.Join(s.dir, ledgerName)
	must.Do(t, errors.Join(os.Chmod(name, 0o666), os.Remove(filepath.Join(s.dir, "a"))))
	o := s.options
	o.Ledger, o.Each.Root = ledgerName, must.Get(os.OpenRoot(s.dir))(t)
	defer o.Each.Root.Close()
	_, err := download.Run(t.Context(), &s.client, slices.Values([]download.Task{fileOf(s.url("/d/a"), "a")}), &o)
	if !errors.Is(err, download.ErrLocal) || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("the error is %v", err)
	}
	s.compare(map[string]string{})
	must.Do(t, os.Chmod(name, 0o644))
	s.run(t.Context(), fileOf(s.url("/d/a"), "a"))
	s.compare(map[string]string{})
}
