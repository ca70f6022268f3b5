package show

import "testing"

// TestKeptNote checks that a note appears only if the same command would resume.

func TestKeptNote(t *testing.T) {
	for kept, want := range map[int64]string{
		7: "; 7 bytes kept, run the same command to resume", 1: "; 1 byte kept, run the same command to resume", 0: "",
	} {
		if got := keptNote(kept); got != want {
			t.Errorf("%d: got %q, want %q", kept, got, want)
		}
	}
}

// TestNote checks that a run which waits says so, that other notes are for -v, and that -q keeps it quiet.
func TestNote(t *testing.T) {
	for _, tt := range []struct {
		options       Options
		waits, others string
	}{{Options{}, "text\n", ""}, {Options{Verbose: true}, "* text\n", "* text\n"}, {Options{Quiet: true}, "", ""}} {
		for _, waits := range []bool{false, true} {
			s := newStand(Plain)
			s.Options = tt.options
			s.Note("text", waits)
			want := tt.others
			if waits {
				want = tt.waits
			}
			s.compare(t, want)
		}
	}
}
