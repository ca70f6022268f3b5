package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLog checks what is logged about three files, one of which is missing.
func TestLog(t *testing.T) {
	s := testserver.New(t, &testserver.Options{
		Tree:  map[string]string{"/a": "1", "/b": "22"},
		Users: map[string]string{"me": "s3cret"},
	})
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	urls := []string{s.URL("me:s3cret@/a"), s.URL("me:s3cret@/missing"), s.URL("me:s3cret@/b")}
	if err := read(t.Context(), log, urls); err == nil {
		t.Error("no error for the missing file")
	}
	if strings.Contains(out.String(), "s3cret") {
		t.Errorf("the log shows the password:\n%s", &out)
	}
	seen := map[string]int{}
	for line := range strings.Lines(out.String()) {
		var e struct {
			Msg                 string
			File, Bytes, Logins int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		seen[e.Msg]++
		switch {
		case e.Msg == "transferred" && e.Bytes != map[int]int{0: 1, 2: 2}[e.File]:
			t.Errorf("the wrong size: %s", line)
		case e.Msg == "server" && e.Logins != 1:
			t.Errorf("more than one login: %s", line)
		}
	}
	for what, want := range map[string]int{"connection": 3, "transferred": 2, "failed": 1, "server": 1} {
		if seen[what] != want {
			t.Errorf("%d of %q, want %d:\n%s", seen[what], what, want, &out)
		}
	}
}
