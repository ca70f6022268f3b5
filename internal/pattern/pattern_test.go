package pattern_test

import (
	"testing"

	"example.com/ftpfetch/internal/pattern"
)

// A wrong expression does no harm until it is used.
func TestCompiledWhenUsed(t *testing.T) {
	wrong, right := pattern.New("("), pattern.New("^a+$")
	if !right.MatchString("aa") || right.MatchString("b") {
		t.Error("^a+$ does not match as it should")
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression was used")
		}
	}()
	wrong.MatchString("x")
}
