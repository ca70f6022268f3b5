package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"example.com/ftpfetch/cmd/internal/cli/commands"
	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/netrc"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/urlparse"
)

const (
	exitOK    = 0
	exitUsage = 2
	exitLogin = 67
	exitOther = 43 // an error that is not in exits

	exitCommand = 123      // as of xargs, if a command fails
	exitClosed  = 128 + 13 // as a shell reports a program that SIGPIPE ended
)

// exits gives the exit codes of errors, which the help explains. The first match applies, so that a timeout while
// connecting is a timeout; TestOrderOfExits checks the order. The codes are those of curl wherever curl has one for the
// case.
var exits = []struct {
	code int
	are  func(error) bool
}{
	{exitUsage, as[*config.Error]},
	// The URL names a directory where a file is needed, or the reverse.
	{exitUsage, func(err error) bool {
		return as[*ftpexec.Error](err) && is(ftpexec.ErrIsDirectory, syscall.ENOTDIR)(err)
	}},
	{75, is(errAtWork, ledger.ErrAtWork)},
	{80, is(errDiffers)},
	{exitCommand, as[*commands.Error]},
	{3, is(manifest.ErrLine)},
	{1, is(urlparse.ErrScheme)},
	{3, as[*urlparse.Error]},
	{exitClosed, outputClosed},
	{23, is(download.ErrLocal)},
	{23, func(err error) bool { return as[*ftpexec.Error](err) && localfile.Failed(err) }},
	{100, is(download.ErrDigest, download.ErrUnverified)},
	{36, is(download.ErrResume)},
	{26, is(netrc.ErrUnusable)},
	{5, is(proxy.ErrResolve)},
	{97, is(proxy.ErrRefused)},
	{6, func(err error) bool { return as[*net.DNSError](err) && !errors.Is(err, ftpexec.ErrConnect) }},
	{exitLogin, is(ftpexec.ErrNoCredentials, ftpexec.ErrLogin)},
	{64, refused("AUTH", "PBSZ", "PROT")},
	{60, as[*tls.CertificateVerificationError]},
	{35, is(ftpexec.ErrTLS)},
	{28, is(ftpexec.ErrTimeout, context.DeadlineExceeded)},
	{7, is(ftpexec.ErrConnect)},
	{9, refused("CWD")},
	{13, refused("EPSV", "PASV")},
	{30, refused("EPRT", "PORT")},
	{17, refused("TYPE")},
	{18, is(ftpexec.ErrChanged, ftpexec.ErrTruncated)},
	{78, is(ftpexec.ErrNotFound)},
	{19, is(ftpexec.ErrRefused)},
	{8, is(ftpexec.ErrProtocol, ftpexec.ErrLine)},
	{56, is(ftpexec.ErrLost)},
	{130, is(context.Canceled)},
}

func is(targets ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func refused(verbs ...string) func(error) bool {
	return func(err error) bool {
		server, ok := errors.AsType[*ftpexec.Error](err)
		if !ok || !errors.Is(err, ftpexec.ErrRefused) {
			return false
		}
		verb, _, _ := strings.Cut(server.Op, " ")
		return slices.Contains(verbs, verb)
	}
}

// outputClosed reports whether the reader of standard output has closed it, as head(1) does. Then the command prints no
// message.
func outputClosed(err error) bool {
	// Windows reports ERROR_BROKEN_PIPE, or ERROR_NO_DATA while the pipe is being closed.
	windows := runtime.GOOS == "windows" && is(syscall.Errno(109), syscall.Errno(232))(err)
	return errors.Is(err, download.ErrLocal) && (windows || is(io.ErrClosedPipe, syscall.EPIPE)(err))
}

func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if ended, ok := errors.AsType[*SignalError](err); ok {
		return 128 + int(ended.Signal.(syscall.Signal)) // as a shell reports it
	}
	for _, e := range exits {
		if e.are(err) {
			return e.code
		}
	}
	return exitOther
}

// Explain returns the text and the exit code of an error, for [show.New]. The text does not include the URL, which the
// printer adds. A hint about flags replaces the library's own. The text for a closed standard output is empty.
func Explain(err error) (text string, code int) {
	code = exitCode(err)
	if err == nil || code == exitClosed {
		return "", code
	}
	instead := hintFor(err)
	if server, ok := errors.AsType[*ftpexec.Error](err); ok {
		e := *server
		e.Hint = cmp.Or(instead, e.Hint)
		return strings.TrimPrefix(e.Error(), e.URL+": "), code
	}
	text = err.Error()
	if instead != "" {
		text += " (" + instead + ")"
	}
	return text, code
}
