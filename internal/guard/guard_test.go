package guard

import (
	"errors"
	"strings"
	"testing"
)

// TestDo checks that a panic becomes an error of one line that names the file, and that an error stays the same.
func TestDo(t *testing.T) {
	var none []int
	var nowhere *struct{ n int }
	own := errors.New("own")
	for want, f := range map[string]func() error{
		"index out of range": func() error { none[len(none)] = 1; return nil },
		"nil pointer":        func() error { nowhere.n++; return nil },
		"makeslice":          func() error { n := -1; none = make([]int, n); return nil },
		"a text":             func() error { panic("a text") },
		"an error":           func() error { panic(errors.New("an error")) },
		"called with nil":    func() error { panic(nil) },
	} {
		err := Do(f)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "guard_test.go:") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if err := Do(func() error { return own }); err != own {
		t.Errorf("got %v", err)
	}
	if err := Do(func() error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
}
