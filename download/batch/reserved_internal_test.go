package batch

import "testing"

// TestReserved checks that nothing from a server or a list gets a ledger's name, in
// any directory.
func TestReserved(t *testing.T) {
	for path, want := range map[string]bool{
		LedgerName: true, LedgerName + "-1-of-3": true, "sub/" + LedgerName: true, "a/b/.FTPFETCH-ledger": true,
		"ftpfetch-ledger": false, "a.ftpfetch-ledger": false, "sub/x" + LedgerName: false, "": false,
	} {
		if got := reserved(path) != nil; got != want {
			t.Errorf("reserved(%q) = %v, want %v", path, got, want)
		}
	}
}
