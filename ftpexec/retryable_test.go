package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/guard"
)

// TestRetryable goes through every kind of error: whether the same request may succeed later.
func TestRetryable(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	of := func(code int, causes ...error) error {
		return &ftpexec.Error{Code: code, Err: errors.Join(causes...)}
	}
	for _, tt := range []struct {
		what string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"another error", io.ErrUnexpectedEOF, false},
		{"the end of a context", context.Canceled, false},
		{"a deadline of a context", context.DeadlineExceeded, false},
		{"421", of(421, ftpexec.ErrTooMany), true},
		{"425", of(425, ftpexec.ErrRefused), true},
		{"450", of(450, ftpexec.ErrRefused), true},
		{"530 for too many users", of(530, ftpexec.ErrTooMany), true},
		{"530", of(530, ftpexec.ErrLogin), false},
		{"550", of(550, ftpexec.ErrNotFound, fs.ErrNotExist), false},
		{"553", of(553, ftpexec.ErrRefused), false},
		{"a timeout", of(0, ftpexec.ErrTimeout), true},
		{"a lost connection", of(0, ftpexec.ErrLost), true},
		{"fewer octets than SIZE", of(226, ftpexec.ErrTruncated), true},
		{"no connection", of(0, ftpexec.ErrConnect), true},
		{"a greeting that refuses", of(554, ftpexec.ErrConnect), false},
		{"no TLS, told with 4yz", of(431, ftpexec.ErrTLSRequired), false},
		{"TLS", of(0, ftpexec.ErrTLS), false},
		{"a changed file", of(0, ftpexec.ErrChanged), false},
		{"a reply that is none", of(0, ftpexec.ErrProtocol), false},
		{"no REST", of(502, ftpexec.ErrNoRestart), false},
		{"a directory", of(0, ftpexec.ErrIsDirectory), false},
		{"a wait that the context ended, after 421", of(421, guard.Stop(ended), ftpexec.ErrTooMany), false},
		{"known to pass", &retry.Judged{Err: of(550, ftpexec.ErrNotFound), Passes: true}, true},
		{"known not to pass", &retry.Judged{Err: of(421, ftpexec.ErrTooMany)}, false},
	} {
		for _, err := range []error{tt.err, wrapped(tt.err), errors.Join(tt.err)} {
			if got := ftpexec.Retryable(err); got != tt.want {
				t.Errorf("%s: Retryable(%v) is %v", tt.what, err, got)
			}
		}
	}
}

// TestNetError checks that callers who look for a net.Error find one in every error that is a timeout.
func TestNetError(t *testing.T) {
	for _, cause := range []error{ftpexec.ErrTimeout, context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		var n net.Error
		if err := error(&ftpexec.Error{Err: wrapped(cause)}); !errors.As(err, &n) || !n.Timeout() {
			t.Errorf("%v: got %v", cause, n)
		}
	}
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("for a caller: %w", err)
}
