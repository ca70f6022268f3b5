package wire

import (
	"reflect"
	"testing"
)

func TestTake(t *testing.T) {
	script := [][]string{{"USER a"}, {"PASS -", "FEAT"}, {"OPTS UTF8 ON", "CWD a", "CWD a", "TYPE I"}, {"EPSV"}, {"SIZE f", "RETR f"}}
	tests := []struct {
		name       string
		sequential bool
		asked      []string
		want       [][]string // sent at each question
	}{
		{"as foreseen", false,
			[]string{"USER a", "PASS -", "OPTS UTF8 ON", "EPSV", "RETR f"},
			[][]string{{"USER a"}, {"PASS -", "FEAT"}, {"OPTS UTF8 ON", "CWD a", "CWD a", "TYPE I"}, {"EPSV"}, {"SIZE f", "RETR f"}}},
		{"no password wanted, no UTF8 offered", false,
			[]string{"USER a", "FEAT", "CWD a", "EPSV"},
			[][]string{{"USER a"}, {"FEAT"}, {"CWD a", "CWD a", "TYPE I"}, {"EPSV"}}},
		{"PASV where EPSV was foreseen", false,
			[]string{"USER a", "PASS -", "OPTS UTF8 ON", "PASV", "RETR f"},
			[][]string{{"USER a"}, {"PASS -", "FEAT"}, {"OPTS UTF8 ON", "CWD a", "CWD a", "TYPE I"}, {"PASV"}, {"SIZE f", "RETR f"}}},
		{"one at a time", true,
			[]string{"USER a", "PASS -", "FEAT", "CWD a", "CWD a", "TYPE I", "EPSV", "RETR f"},
			[][]string{{"USER a"}, {"PASS -"}, {"FEAT"}, {"CWD a"}, {"CWD a"}, {"TYPE I"}, {"EPSV"}, {"SIZE f", "RETR f"}}},
		{"not in the script", false, []string{"NOOP", "USER a"}, [][]string{{"NOOP"}, {"USER a"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &Control{script: script, sequential: tt.sequential}
			for i, line := range tt.asked {
				if got := c.take(line); !reflect.DeepEqual(got, tt.want[i]) {
					t.Errorf("%q sends %q, want %q", line, got, tt.want[i])
				}
			}
		})
	}
}
