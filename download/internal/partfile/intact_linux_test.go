package partfile

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestIntact compares complete parts with their blocks. A part that no other program has touched is not read again,
// because it may be larger than the memory.
func TestIntact(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/shm") // a file system that tells who opens a file
	defer func() { disk.Fault = nil }()
	text := slices.Repeat([]byte("0123456789abcdef"), 1<<15) // 512 KiB
	for what, tt := range map[string]struct {
		meddle func(name string) error
		reads  bool
		wrong  bool
	}{
		"nothing": {func(string) error { return nil }, false, false},
		"read": {func(name string) error {
			_, err := os.ReadFile(name)
			return err
		}, true, false},
		"cut":     {func(name string) error { return os.Truncate(name, 0) }, true, true},
		"written": {func(name string) error { return os.WriteFile(name, []byte("other"), 0o600) }, true, true},
	} {
		dir := t.TempDir()
		p := must.Get(placeIn(t, dir, "f").Claim("ftp://h/f", nil))(t)
		half := int64(len(text) / 2)
		put(t, p, Span{0, half}, int64(len(text)), text)
		must.Do(t, p.Checkpoint(t.Context()))
		must.Do(t, tt.meddle(p.f.Name()))
		put(t, p, Span{half, 2 * half}, 2*half, text)
		reads := 0
		disk.Fault = func(call, _ string) error {
			if call == "read" {
				reads++
			}
			return nil
		}
		err := p.Intact(context.Background())
		disk.Fault = nil
		if (reads > 0) != tt.reads || errors.Is(err, localfile.ErrLocal) != tt.wrong || err != nil && !tt.wrong {
			t.Errorf("%s: %d reads, %v", what, reads, err)
		}
		p.Discard()
	}
}

// put writes the bytes of span, of a file with this size.
func put(t *testing.T, p *Part, span Span, size int64, text []byte) {
	t.Helper()
	p.Describe(size, time.Unix(1e9, 0))
	s := must.Get(p.Write(span))(t)
	must.Get(s.To.Write(text[span.Start:span.End]))(t)
	must.Get(p.End(s, true))(t)
}
