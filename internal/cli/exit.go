package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/gateway"
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
	case errors.As(err, &server) && server.Local():
		return exitLocal
	}
	for _, e := range exits {
		if slices.ContainsFunc(e.errs, func(target error) bool { return isThe(err, target) }) {
			return e.code
		}
	}
	if errors.As(err, new(*urlparse.Error)) {
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
	// On Windows these are ERROR_BROKEN_PIPE, and ERROR_NO_DATA: the pipe is being closed.
	windows := runtime.GOOS == "windows" && (errors.Is(err, syscall.Errno(109)) || errors.Is(err, syscall.Errno(232)))
	return windows || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE)
}

// explain returns the text and the exit code of an error, for [show.New]. The text is without the URL, which the
// printer adds, and has a hint: one about flags replaces the library's own. A closed standard output is not worth a
// text.
func explain(err error) (text string, code int) {
	if code = exitCode(err); code == exitClosed {
		return "", code
	}
	instead := ""
	if i := slices.IndexFunc(hints, func(h hinted) bool { return isThe(err, h.error) }); i >= 0 {
		instead = hints[i].hint
	}
	if h, ok := errors.AsType[*hinted](err); ok {
		instead = h.hint
	}
	text = err.Error()
	if server, ok := errors.AsType[*ftpexec.Error](err); ok {
		e := *server
		if instead != "" {
			e.Hint = ""
		}
		text = strings.TrimPrefix(e.Error(), e.URL+": ")
	}
	if instead != "" {
		text += " (" + instead + ")"
	}
	return text, code
}

// hinted is an error with what to write instead. That of one error goes before that of the table.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// hints says what to write instead, for the errors that have such a hint; the first match counts.
var hints = []hinted{
	{fs.ErrExist, "--overwrite replaces it, --no-clobber skips it"},
	{download.ErrName, "-o FILE saves it under another"},
	{download.ErrPart, "remove it, or -c resumes it, or --overwrite replaces it"},
	{download.ErrResume, "--overwrite, without -c, starts over"},
	{download.ErrUnverified, "--checksum ALGO:HEX gives the digest of one file"},
	{manifest.ErrPath, "--keep-dirs saves each file under the directories of its URL"},
	{manifest.ErrBase, "--base URL"},
	{netrc.ErrUnusable, "--netrc=none ignores it"},
	{ftpexec.ErrIsDirectory, "-r fetches what is in it"},
	{ftpexec.ErrTLSRequired, "--tls explicit asks for it, and so does ftpes:// in place of ftp://"},
	{errCertificate, "--cacert FILE trusts the authority in FILE"},
	{gateway.ErrWithheld, "--proxy get+URL gives it these, unencrypted unless the proxy's URL is https://"},
	{ftpexec.ErrTLS, "the server may expect ftpes:// in place of ftps://, or --tls explicit in place of --tls implicit"},
	{syscall.EMFILE, "ulimit -n raises the limit, and a smaller -j or -s needs fewer"},
	{syscall.ENFILE, "other programs have them: end some, or raise the system's limit"},
	{syscall.ENOBUFS, "a smaller -j or -s needs less memory"},
	{syscall.ENOMEM, "a smaller -j or -s needs less memory"},
	{syscall.EADDRNOTAVAIL, "--bind names no address of this machine"},
	{ftpexec.ErrNoCredentials, "--password-stdin or a netrc file gives a password, a netrc file an account too"},
}

// hint returns what the user of this command line may have expected of a URL that failed, or "".
func (r *run) hint(u *urlparse.URL, err error) string {
	_, given := r.User.Password()
	refused := errors.Is(err, ftpexec.ErrLogin) || errors.Is(err, ftpexec.ErrNoCredentials)
	switch {
	case u.User == nil && u.WithoutPassword().String() != u.String() && errors.Is(err, ftpexec.ErrConnect):
		return `if this is a password, write %2F for a "/" in it`
	case refused && u.User.Username() == r.User.Username() && strings.Contains(r.User.Username(), ",") && !given:
		return "-u takes NAME:PASSWORD, with a colon"
	case refused && u.User == nil && !r.logins.names && r.logins.unusable == nil:
		if _, ok := r.logins.file.User(u.Host); ok {
			return "-n takes the login for " + u.Host + " from the netrc file"
		}
	case errors.Is(err, download.ErrPart) && (u.IsDir() || r.Long || r.File.Continue): // -c does not help
		return "remove it, or --overwrite, without -c, replaces it"
	case errors.Is(err, ftpexec.ErrNotFound) && strings.ContainsAny(u.Name, "*?") && !r.Glob:
		return "--glob takes it as a pattern of names"
	}
	return ""
}

// localError returns an error about a local file, or nil for nil.
func localError(path, what string, err error) error {
	if err == nil {
		return nil
	}
	return &download.Error{Path: path, Reason: what + ": " + localfile.Cause(err).Error(), Err: err}
}
