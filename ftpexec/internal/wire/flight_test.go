package wire

import (
	"reflect"
	"testing"
	"time"
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

// A transfer may take its time to begin; another reply of a flight that stays out is lost.
func TestPatience(t *testing.T) {
	tests := []struct {
		ahead []string
		batch int
		want  time.Duration
	}{
		{[]string{"SIZE f", "MDTM f"}, 2, time.Minute}, // none has come yet
		{[]string{"MDTM f", "RETR f"}, 3, aheadTimeout},
		{[]string{"RETR f"}, 3, time.Minute},
		{[]string{"NLST"}, 3, time.Minute},
		{[]string{"CWD a"}, 1, time.Minute},
	}
	for _, tt := range tests {
		c := &Control{cfg: Config{ReplyTimeout: time.Minute}, ahead: tt.ahead, batch: tt.batch}
		if got := c.patience(); got != tt.want {
			t.Errorf("%q of %d: %v, want %v", tt.ahead, tt.batch, got, tt.want)
		}
	}
}
