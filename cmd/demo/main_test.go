package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

// TestMain lets the test program act as the command.
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

// TestRunFails checks that run fails if a step does not have the expected result. A small file, for example, is
// complete before the command can be killed.
func TestRunFails(t *testing.T) {
	for missing, want := range map[string]string{"": "--limit-rate 2M ftp://", "/pub/reads_1.fq": "--manifest ", "/pub/project/README": "-r "} {
		t.Setenv("TMPDIR", t.TempDir())
		files := tree()
		if delete(files, missing); missing == "" {
			files["/pub/genome.fa.gz"] = "soon there"
		}
		var out bytes.Buffer
		err := run(t.Context(), &out, &testserver.Options{Tree: files})
		if err == nil || !strings.Contains(err.Error(), "ftpfetch "+want) || strings.Contains(out.String(), "All of it worked") {
			t.Errorf("got %v, want the failure of %s", err, want)
		}
	}
}
