package main

import (
	"bytes"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	if err := run(t.Context(), &out, &testserver.Options{Tree: tree()}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"1. ", "   $ ftpfetch --dry-run ftp://", "   > RETR readme.txt\n", "   why?.txt\n", "read me.txt'\n", "(exit code 3)", "All of it worked.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestRunFails: a step that does not do what it shows is an error.
func TestRunFails(t *testing.T) {
	reply := func(verb, text string) func(*testserver.Conn) testserver.Action {
		return func(p *testserver.Conn) testserver.Action {
			if p.Verb == verb {
				return testserver.Reply(text)
			}
			return nil
		}
	}
	other := tree()
	other["/pub/docs/readme.txt"] = strings.ToUpper(readme)
	less := tree()
	delete(less, "/pub/docs/why?.txt")
	tests := []struct {
		o    testserver.Options
		want string
	}{
		{testserver.Options{Tree: tree(), Fault: reply("RETR", "550 No")}, "step 2 "},
		{testserver.Options{Tree: tree(), Fault: reply("NLST", "550 No")}, "step 3 "},
		{testserver.Options{Tree: other}, "step 2 "},
		{testserver.Options{Tree: less}, "step 3 "},
	}
	for _, tt := range tests {
		t.Setenv("TMPDIR", t.TempDir())
		var out bytes.Buffer
		err := run(t.Context(), &out, &tt.o)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(out.String(), "All of it worked") {
			t.Errorf("got %v, want the failure of %s", err, tt.want)
		}
	}
}
