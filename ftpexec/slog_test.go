package ftpexec_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// A log in JSON has the dialogue of a plan, of several connections and with what steers a terminal escaped, and no password.
func TestSlogTrace(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Users: map[string]string{"user": "hunter2"},
		Tree: map[string]string{"/d/f": "contents", "/d/g": "contents"}, Fault: func(p testserver.FaultPoint) testserver.Fault {
			switch p.Verb {
			case "":
				return testserver.Fault{Final: "220 hello\x1b[2J"}
			case "CWD":
				return testserver.Fault{Final: "250 hunter2, I know you"}
			}
			return testserver.Fault{}
		}})
	var out bytes.Buffer
	c := &ftpexec.Client{MaxIdle: -1, Trace: ftpexec.SlogTrace(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))}
	for _, name := range []string{"f", "g"} {
		if _, err := read(t.Context(), c, parse(t, s.URLAs("user:hunter2", "/d/"+name))); err != nil {
			t.Fatal(err)
		}
	}
	if text := out.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, `\\x1b[2J`) || !strings.Contains(text, "I know you") {
		t.Errorf("got %s", text)
	}
	type record struct {
		Level, Msg, Kind, Text, Server string
		Conn, Flight                   int
	}
	var commands [3][]string // by connection
	for line := range strings.Lines(out.String()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if level := map[string]string{"command": "DEBUG", "reply": "DEBUG", "note": "INFO"}[r.Kind]; r.Level != level || r.Msg != "ftp" || r.Server != s.Addr() || r.Conn < 1 || r.Conn > 2 {
			t.Fatalf("got %s", line)
		}
		if r.Kind == "command" {
			commands[r.Conn] = append(commands[r.Conn], r.Text)
		}
		if (r.Flight > 0) != (r.Kind == "command") {
			t.Errorf("got %s", line)
		}
	}
	for conn, name := range map[int]string{1: "f", 2: "g"} {
		want := []string{"USER user", "PASS ********", "CWD d", "TYPE I", "SIZE " + name, "MDTM " + name, "EPSV", "RETR " + name, "QUIT"}
		if !slices.Equal(commands[conn], want) {
			t.Errorf("connection %d: got %q, want %q", conn, commands[conn], want)
		}
	}
}

// A logger that wants no debugging gets the notes alone.
func TestSlogTraceLevel(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "contents"}})
	var out bytes.Buffer
	c := &ftpexec.Client{MaxIdle: -1, Trace: ftpexec.SlogTrace(slog.New(slog.NewTextHandler(&out, nil)))}
	if _, err := read(t.Context(), c, parse(t, s.URL("/d/f"))); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "kind=command") || !strings.Contains(text, "kind=note") {
		t.Errorf("got %s", text)
	}
}
