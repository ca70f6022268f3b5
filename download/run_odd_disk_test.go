package download_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/testserver"
)

// TestUnwritableLedger makes calls for the ledger fail. The run warns once and fetches all files, and so does the next,
// which finds them there.
func TestUnwritableLedger(t *testing.T) {
	t.Cleanup(func() { disk.Fault = nil })
	for _, failing := range []string{"append", "fsync"} {
		tree := map[string]string{"/d/a": "1", "/d/b": "2", "/d/c": "3"}
		s := newStand(t, tree, testserver.Options{})
		disk.Fault = func(call, path string) error {
			if call == failing && strings.Contains(path, ledgerName) {
				return syscall.EPERM
			}
			return nil
		}
		var warnings []string
		s.options.Events = func(e download.Event) {
			if e.Kind == download.Noted && e.Err != nil {
				warnings = append(warnings, e.Err.Error())
			}
		}
		got := s.run(t.Context(), s.tasks(tree)...)
		if !got.Whole() || got.Complete != 3 || len(warnings) != 1 || !strings.Contains(warnings[0], "the ledger cannot be written: operation not permitted: going on without it") {
			t.Errorf("%s: %+v, %q", failing, got, warnings)
		}
		if got = s.run(t.Context(), s.tasks(tree)...); !got.Whole() || got.Before != 3 {
			t.Errorf("%s again: %+v", failing, got)
		}
	}
}

// TestToldTime fetches files whose times the disk cannot keep. The ledger remembers the server's time: it is the only
// record, because this disk cannot be asked again what it makes of a time. Later runs fetch nothing.
func TestToldTime(t *testing.T) {
	t.Cleanup(func() { disk.Fault, disk.FakeTime = nil, nil })
	tree := map[string]string{"/d/a": "1", "/d/b": "2"}
	for name, makes := range map[string]time.Time{"earlier": time.Unix(1, 0), "now": time.Now(), "later": time.Unix(1<<33, 0)} {
		s := newStand(t, tree, testserver.Options{})
		disk.FakeTime = func(time.Time) time.Time { return makes }
		disk.Fault = func(call, path string) error {
			if call == "open" && strings.Contains(path, ".ftpfetch-time-") {
				return syscall.EACCES
			}
			return nil
		}
		for i, existing := range []download.Existing{"", "", download.Newer, download.Continue, download.NewerOrContinue, download.Newer} {
			s.options.Each.Existing = existing
			s.options.Each.Verify = false
			s.srv.ResetCommands()
			got := s.run(t.Context(), s.tasks(tree)...)
			sent := slices.ContainsFunc(s.srv.Commands(), func(c string) bool { return strings.HasPrefix(c, "RETR") })
			if !got.Whole() || sent != (i == 0) {
				t.Errorf("%s, run %d, %q: %+v %v, sent: %v", name, i, existing, got, s.failures(), sent)
			}
		}
	}
}
