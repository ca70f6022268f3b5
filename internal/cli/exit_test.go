package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/netrc"
	"example.com/ftpfetch/urlparse"
)

// wrapped wraps err as the library does.
func wrapped(err error) error {
	return &ftpexec.Error{Op: "RETR x", URL: "ftp://h/x", Err: fmt.Errorf("%w: more", err)}
}

func refusedTo(op string) error {
	return &ftpexec.Error{Op: op, URL: "ftp://h/x", Err: ftpexec.ErrRefused}
}

func TestExitCode(t *testing.T) {
	_, scheme := urlparse.Parse("gopher://h/")
	_, malformed := urlparse.Parse("ftp://h/a b")
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{scheme, 1},
		{config.Usage("no"), 2},
		{malformed, 3},
		{wrapped(&net.DNSError{}), 6},
		{wrapped(ftpexec.ErrConnect), 7},
		{wrapped(ftpexec.ErrProtocol), 8},
		{refusedTo("CWD x"), 9},
		{refusedTo("EPSV"), 13},
		{wrapped(netrc.ErrUnusable), 26},
		{refusedTo("TYPE I"), 17},
		{wrapped(ftpexec.ErrTruncated), 18},
		{wrapped(ftpexec.ErrRefused), 19},
		{&localfile.Error{Err: fs.ErrExist}, 23},
		{&localfile.Error{Err: localfile.ErrName}, 23},
		{&localfile.Error{Err: syscall.ENOSPC}, 23},
		{ftpexec.ErrChanged, 18},
		{download.ErrResume, 36},
		{download.ErrDigest, 100},
		{download.ErrUnverified, 100},
		{wrapped(ftpexec.ErrTimeout), 28},
		{context.DeadlineExceeded, 28},
		{new(run{Config: new(config.Config)}).tooLong(), 28},
		{refusedTo("PORT 1"), 30},
		{wrapped(ftpexec.ErrTLS), 35},
		{wrapped(ftpexec.ErrLost), 56},
		{wrapped(&tls.CertificateVerificationError{Err: errors.New("no")}), 60},
		{refusedTo("AUTH TLS"), 64},
		{wrapped(ftpexec.ErrLogin), 67},
		{wrapped(ftpexec.ErrNoCredentials), 67},
		{wrapped(ftpexec.ErrNotFound), 78},
		{context.Canceled, 130},
		{&SignalError{os.Interrupt}, 130},
		{wrapped(&SignalError{os.Interrupt}), 130},
		{&SignalError{syscall.SIGTERM}, 143},
		{&SignalError{syscall.SIGHUP}, 129},
		{localfile.Failure("", "", syscall.EPIPE), 141},
		{localfile.Failure("", "", io.ErrClosedPipe), 141},
		{wrapped(ftpexec.ErrLine), 8},
		{wrapped(ftpexec.ErrIsDirectory), 2},
		{wrapped(syscall.ENOTDIR), 2},
		{localfile.Failure("f", "cannot be created", syscall.ENOTDIR), 23},
		{wrapped(syscall.EPIPE), 43}, // the network's, not standard output's
		{errors.New("unheard of"), 43},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestDescribe checks that a description hides passwords and has one hint.
func TestDescribe(t *testing.T) {
	err := &ftpexec.Error{
		Op: "login", URL: "ftp://me:***@h/x", Hint: "library's hint",
		Err: fmt.Errorf("%w: no terminal", ftpexec.ErrNoCredentials),
	}
	want := ftpexec.ErrNoCredentials.Error() + ": no terminal (--password-stdin or ~/.netrc)"
	if got, _ := Explain(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	err.Err = ftpexec.ErrLogin
	if got, _ := Explain(err); got != "login refused (library's hint)" {
		t.Errorf("got %s", got)
	}
	if got, _ := Explain(syscall.ENOBUFS); got != syscall.ENOBUFS.Error()+" (a smaller -j or -s needs less memory)" {
		t.Errorf("got %s", got)
	}
}

// TestExitCodesAreDocumented finds each code in the help and the man page.
func TestExitCodesAreDocumented(t *testing.T) {
	codes := []int{exitOK, exitOther, 129, 143} // the others are of errors
	for _, e := range exits {
		if !slices.Contains(codes, e.code) {
			codes = append(codes, e.code)
		}
	}
	_, help, _ := strings.Cut(config.Text("help"), "Exit codes")
	for _, code := range codes {
		for where, row := range map[string]string{help: fmt.Sprintf(`(?m)(^|  ) *%d  \S`, code), docs.Man: fmt.Sprintf(`\n\.B %d\n\w`, code)} {
			if !regexp.MustCompile(row).MatchString(where) {
				t.Errorf("%.20q has no %s", where, row)
			}
		}
	}
	if n := len(regexp.MustCompile(`(?m)(^|  ) *\d+  \S`).FindAllString(help, -1)); n != len(codes) {
		t.Errorf("the help has %d codes, not %d", n, len(codes))
	}
}
