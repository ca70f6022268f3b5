package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

// TestMain makes the test program the command, too.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	err := run(t.Context(), &out, &testserver.Options{Tree: tree()})
	if n := strings.Count(out.String(), "\n"); err != nil || n >= 40 {
		t.Fatalf("%v, in %d lines\n%s", err, n, out.String())
	}
	for _, want := range []string{"   $ ftpfetch --limit-rate 2M ftp://", "\n   Killed\n", ": resuming ", "md5 is ", "(exit code 100: ", "All of it worked."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestRunFails: a step that does not do what it shows is an error.
func TestRunFails(t *testing.T) {
	files := func(change func(map[string]string)) *testserver.Options {
		all := tree()
		all["/pub/genome.fa.gz"] = "soon there" // before it can be killed
		change(all)
		return &testserver.Options{Tree: all}
	}
	tests := []struct {
		o    *testserver.Options
		want string
	}{
		{files(func(map[string]string) {}), "ftpfetch --limit-rate 2M ftp://"},
		{files(func(all map[string]string) { delete(all, "/pub/reads_1.fq") }), "ftpfetch --manifest "},
		{files(func(all map[string]string) { delete(all, "/pub/project/README") }), "ftpfetch -r "},
	}
	for _, tt := range tests {
		t.Setenv("TMPDIR", t.TempDir())
		var out bytes.Buffer
		err := run(t.Context(), &out, tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(out.String(), "All of it worked") {
			t.Errorf("got %v, want the failure of %s", err, tt.want)
		}
	}
}
