package cli

import (
	"context"
	"errors"
	"io"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/netrc"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// Exit codes that the code refers to by name.
const (
	exitOK     = 0
	exitUsage  = 2
	exitURL    = 3
	exitLocal  = 23
	exitOther  = 8        // an error that is not in the table
	exitClosed = 128 + 13 // what a shell reports for a program ended by SIGPIPE
)

// exits maps errors to exit codes; the first match counts. The codes are curl's
// if curl has one for the case.
var exits = []struct {
	err  error
	code int
}{
	{urlparse.ErrScheme, 1},
	{download.ErrLocal, exitLocal},
	{download.ErrDigest, 100},
	{download.ErrUnverified, 100},
	{download.ErrResume, 36},
	{download.ErrSize, 18},
	{download.ErrChanged, 18},
	{netrc.ErrUnusable, 26},
	{proxy.ErrResolve, 5},
	{proxy.ErrRefused, 97},
	{ftpexec.ErrResolve, 6},
	{ftpexec.ErrNoCredentials, 67},
	{ftpexec.ErrLogin, 67},
	{ftpexec.ErrTLSUnavailable, 64},
	{ftpexec.ErrCertificate, 60},
	{ftpexec.ErrTLSHandshake, 35},
	{ftpexec.ErrTimeout, 28},
	{context.DeadlineExceeded, 28},
	{ftpexec.ErrConnect, 7},
	{ftpexec.ErrDirectory, 9},
	{ftpexec.ErrPassive, 13},
	{ftpexec.ErrActive, 30},
	{ftpexec.ErrType, 17},
	{ftpexec.ErrTruncated, 18},
	{ftpexec.ErrNotFound, 78},
	{batch.ErrNoMatch, 78},
	{ftpexec.ErrRefused, 19},
	{ftpexec.ErrProtocol, 8},
	{ftpexec.ErrLost, 56},
	{context.Canceled, 130},
}

// exitCode returns the exit code for err.
func exitCode(err error) int {
	var bad *usageError
	var signal *SignalError
	var malformed *urlparse.Error
	var line *manifest.LineError
	var server *ftpexec.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &bad):
		return exitUsage
	case errors.As(err, &signal):
		return signal.code()
	case errors.As(err, &line):
		return exitURL
	case outputClosed(err):
		return exitClosed
	case errors.As(err, &server) && server.Local():
		return exitLocal
	}
	for _, e := range exits {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	if errors.As(err, &malformed) {
		return exitURL
	}
	return exitOther
}

// outputClosed reports whether err means that the reader of standard output has
// closed it, as head(1) does. The run then ends without a message.
func outputClosed(err error) bool {
	if !errors.Is(err, download.ErrLocal) {
		return false
	}
	for _, closed := range pipeClosed {
		if errors.Is(err, closed) {
			return true
		}
	}
	return errors.Is(err, io.ErrClosedPipe)
}
