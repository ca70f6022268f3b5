package download_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// withoutHash is the Fault of a server that computes no digests.
func withoutHash(c *testserver.Conn) testserver.Action {
	if c.Verb == "FEAT" {
		return testserver.Reply("211-Features\r\n SIZE\r\n MDTM\r\n211 End")
	}
	return nil
}

// verifyCase is the situation of a run with Verify.
type verifyCase struct {
	tree     bool   // the task is a tree, not a file
	there    string // the text of the target; "" if there is none
	recorded string // what the ledger has for this size and time: fetched, or "verified"
	listed   bool   // the server has a list of digests
	each     download.Options
}

const verifiedText, damagedText = "the contents", "the c0ntents"

// TestVerifyMeansVerified runs every combination of the target, the record of an earlier run, whether the server has
// digests, and the flags for existing files.
func TestVerifyMeansVerified(t *testing.T) {
	n := 0
	for _, tree := range []bool{false, true} {
		for _, there := range []string{"", verifiedText, damagedText} {
			for _, recorded := range []string{"", "fetched", "verified"} {
				for _, listed := range []bool{false, true} {
					for _, each := range []download.Options{{}, {Existing: download.Newer}, {Existing: download.Skip}, {Existing: download.Overwrite}, {Existing: download.Continue}} {
						n++
						verifyCase{tree, there, recorded, listed, each}.run(t)
					}
				}
			}
		}
	}
	t.Logf("%d combinations", n)
}

func (c verifyCase) run(t *testing.T) {
	files := map[string]string{"/d/f": verifiedText}
	if c.listed {
		files["/SHA256SUMS"] = fmt.Sprintf("%x  d/f\n", sha256.Sum256([]byte(verifiedText)))
	}
	s := newStand(t, files, testserver.Options{Fault: withoutHash})
	task := fileOf(s.url("/d/f"), "f")
	of := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) // time of the server's file
	local := filepath.Join(s.dir, "f")
	if c.there != "" {
		must.Do(t, os.WriteFile(local, []byte(c.there), 0o600))
		must.Do(t, os.Chtimes(local, of, of))
	}
	if c.recorded != "" {
		r := ledger.Of("f")
		r.URL = task.URLs[0].Key()
		r.Size = int64(len(verifiedText))
		r.Modified = of
		if c.recorded == "verified" {
			r.Verified = "sha256 in SHA256SUMS"
		}
		s.record(r)
	}
	if c.tree {
		task = treeOf(t, s.srv.URL("/d/"), download.Tree{})
	}
	s.options.Each = c.each
	s.options.Each.Verify = true
	got := s.run(t.Context(), task)

	now, err := os.ReadFile(local)
	trusted := c.there != "" && c.recorded == "verified" && c.each.Existing != download.Overwrite
	replaced := c.there == "" || c.each.Existing == download.Newer || c.each.Existing == download.Overwrite
	whole, has := false, c.there
	switch {
	case trusted: // an earlier run compared a digest of this size and time
		whole = true
	case !c.listed: // there is nothing to compare with
	case c.there == verifiedText || replaced:
		whole, has = true, verifiedText
	}
	if got.Whole() != whole || string(now) != has {
		t.Errorf("%+v: whole %v, want %v; %q there (%v), want %q; %q", c, got.Whole(), whole, now, err, has, s.failures())
	}
	if got.Whole() && s.outcomes[0].Result.Verified == "" {
		t.Errorf("%+v: complete, but no digest was compared: %+v", c, s.outcomes[0].Result)
	}
}

// record writes a ledger.
func (s *stand) record(r ledger.Record) {
	s.Helper()
	root := must.Get(os.OpenRoot(s.dir))(s)
	defer root.Close()
	l := must.Get(ledger.Open(root, ledgerName))(s)
	defer l.Close()
	must.Do(s, l.Add(r))
	must.Do(s, l.Flush())
}
