package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/localfile"
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

// exits is the one table of exit codes: the codes, what the help says of them, and
// the errors that have them. The first match counts, so that a timeout while
// connecting is a timeout. A code without errors has a case in exitCode. The codes
// are curl's if curl has one for the case.
var exits = []struct {
	code int
	text string
	errs []error
}{
	{exitOK, "done", nil},
	{exitUsage, "bad usage", nil},
	{exitURL, "malformed URL, or line of a list", nil},
	{1, "unsupported scheme", []error{urlparse.ErrScheme}},
	{exitLocal, "local error: a file exists or fails, or too many are open", []error{download.ErrLocal}},
	{100, "digest mismatch, or none found to verify against", []error{download.ErrDigest, download.ErrUnverified}},
	{36, "cannot resume as -c asks for", []error{download.ErrResume}},
	{26, "netrc file cannot be used", []error{netrc.ErrUnusable}},
	{5, "proxy not resolved", []error{proxy.ErrResolve}},
	{97, "the proxy refuses to connect to the host", []error{proxy.ErrRefused}},
	{6, "host not resolved", []error{errNoHost}},
	{67, "login refused, or no password", []error{ftpexec.ErrNoCredentials, ftpexec.ErrLogin}},
	{64, "TLS required but not offered", []error{refused{"AUTH", "PBSZ", "PROT"}}},
	{60, "certificate not trusted", []error{errCertificate}},
	{35, "TLS handshake failed", []error{ftpexec.ErrTLS}},
	{28, "timed out: --connect-timeout, --timeout, --max-time or --speed-limit", []error{ftpexec.ErrTimeout, context.DeadlineExceeded}},
	{7, "no connection to the host or proxy", []error{ftpexec.ErrConnect}},
	{9, "access denied, or no such directory (CWD refused)", []error{refused{"CWD"}}},
	{13, "unusable answer to EPSV or PASV", []error{refused{"EPSV", "PASV"}}},
	{30, "active mode refused", []error{refused{"EPRT", "PORT"}}},
	{17, "TYPE refused", []error{refused{"TYPE"}}},
	{18, "transfer incomplete", []error{download.ErrSize, ftpexec.ErrChanged, ftpexec.ErrTruncated}},
	{78, "no such file, or none that matches", []error{ftpexec.ErrNotFound}},
	{19, "refused for a reason other than absence", []error{ftpexec.ErrRefused}},
	{exitOther, "a reply that makes no sense, or a failure not listed here", []error{ftpexec.ErrProtocol}},
	{56, "connection lost", []error{ftpexec.ErrLost}},
	{130, "interrupted (SIGINT)", []error{context.Canceled}},
	{129, "ended by SIGHUP", nil},
	{exitClosed, "standard output was closed by its reader", nil},
	{143, "ended by SIGTERM", nil},
}

// refused stands for the refusal of one of these commands.
type refused []string

func (refused) Error() string { return "refused" }

// Errors that are the standard library's.
var (
	errNoHost      = errors.New("DNS has no address for the host")
	errCertificate = errors.New("the certificate cannot be verified")
)

// isThe reports whether err is what an entry of the table means.
func isThe(err, target error) bool {
	verbs, refusal := target.(refused)
	var server *ftpexec.Error
	var dns *net.DNSError
	switch {
	case refusal:
		verb := ""
		if errors.As(err, &server) {
			verb, _, _ = strings.Cut(server.Op, " ")
		}
		return errors.Is(err, ftpexec.ErrRefused) && slices.Contains(verbs, verb)
	case target == errNoHost:
		return errors.As(err, &dns) && !errors.Is(err, ftpexec.ErrConnect)
	case target == errCertificate:
		return errors.As(err, new(*tls.CertificateVerificationError))
	}
	return errors.Is(err, target)
}

// exitLines lists the exit codes in their order, one per line.
func exitLines() string {
	lines := make([]string, len(exits))
	for i, e := range exits {
		lines[i] = fmt.Sprintf("  %3d  %s\n", e.code, e.text)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// exitCode returns the exit code for err.
func exitCode(err error) int {
	var bad *config.Error
	var signal *SignalError
	var malformed *urlparse.Error
	var server *ftpexec.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &bad):
		return exitUsage
	case errors.As(err, &signal):
		return signal.code()
	case errors.Is(err, manifest.ErrLine):
		return exitURL
	case outputClosed(err):
		return exitClosed
	case errors.As(err, &server) && localfile.Failed(err):
		return exitLocal
	}
	for _, e := range exits {
		if slices.ContainsFunc(e.errs, func(target error) bool { return isThe(err, target) }) {
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
	return errors.Is(err, io.ErrClosedPipe) || slices.ContainsFunc(pipeClosed, func(closed error) bool { return errors.Is(err, closed) })
}

// explain returns the text and the exit code of an error, for [show.New]. The text
// is without the URL, which the printer adds, and has a hint: one about flags
// replaces the library's own. A closed standard output is not worth a text.
func explain(err error) (text string, code int) {
	if code = exitCode(err); code == exitClosed {
		return "", code
	}
	return describe(err), code
}

func describe(err error) string {
	var server *ftpexec.Error
	what, instead := err.Error(), hint(err)
	if errors.As(err, &server) {
		e := *server
		if instead != "" {
			e.Hint = ""
		}
		what = strings.TrimPrefix(e.Error(), e.URL+": ")
	}
	if instead != "" {
		what += " (" + instead + ")"
	}
	return what
}

// localError returns an error about a local file, or nil for nil.
func localError(path, what string, err error) error {
	if err == nil {
		return nil
	}
	return &download.Error{Path: path, Reason: what + ": " + localfile.Cause(err).Error(), Err: err}
}
