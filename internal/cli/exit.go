package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/netrc"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/network/gateway"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/urlparse"
)

const (
	exitOK     = 0
	exitUsage  = 2
	exitLogin  = 67
	exitOther  = 43       // an error that is not in the table
	exitClosed = 128 + 13 // what a shell reports for a program ended by SIGPIPE
)

// exits says which errors have which exit code; the help says what they mean. The first match counts, so that a timeout
// while connecting is a timeout; TestOrderOfExits holds the order. The codes are curl's if curl has one for the case.
var exits = []struct {
	code int
	are  func(error) bool
}{
	{exitUsage, as[*config.Error]},
	// A URL names a directory in place of a file, or the reverse.
	{exitUsage, func(err error) bool {
		return as[*ftpexec.Error](err) && is(ftpexec.ErrIsDirectory, syscall.ENOTDIR)(err)
	}},
	{75, is(errAtWork)},
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

// outputClosed reports whether the reader of standard output has closed it, as head(1) does. Then there is no message.
func outputClosed(err error) bool {
	// On Windows these are ERROR_BROKEN_PIPE, and ERROR_NO_DATA: the pipe is being closed.
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

// Explain returns the text and the exit code of an error, for [show.New]. The text is without the URL, which the printer
// adds, and has a hint: one about flags replaces the library's own. A closed standard output is not worth a text.
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

// hintFor returns what to write instead, for an error that has a hint of its own or in the table, or "".
func hintFor(err error) string {
	if h, ok := errors.AsType[*hinted](err); ok {
		return h.hint
	}
	for _, h := range hints {
		if h.are(err) {
			return h.text
		}
	}
	return ""
}

// hinted is an error with what to write instead. That of one error goes before that of the table.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// hints says what to write instead, for the errors that have such a hint. The first match counts; TestOrderOfHints holds the order.
var hints = []struct {
	are  func(error) bool
	text string
}{
	{is(localfile.ErrOther), "--overwrite replaces it"},
	{is(fs.ErrExist), "-N updates it, --overwrite replaces it, --no-clobber skips it"},
	{is(localfile.ErrName), "-o FILE saves it under another name"},
	{is(download.ErrResume), "--overwrite, without -c or -N, starts over"},
	{is(download.ErrUnverified), "--checksum ALGO:HEX gives the digest of one file"},
	{is(netrc.ErrUnusable), "--netrc=none ignores it"},
	{func(err error) bool {
		return errors.Is(err, ftpexec.ErrIsDirectory) && errors.Is(err, ftpexec.ErrRefused)
	},
		`End the URL in "/" to list it; -r fetches what is in it`},
	{is(ftpexec.ErrIsDirectory), "-r fetches what is in it"},
	{is(ftpexec.ErrTLSRequired), "--tls explicit asks for it, and so does ftpes:// in place of ftp://"},
	{as[*tls.CertificateVerificationError], "--cacert FILE trusts the authority in FILE"},
	{is(gateway.ErrWithheld), "--proxy get+URL gives it these, unencrypted unless the proxy's URL is https://"},
	{is(syscall.EMFILE), "ulimit -n raises the limit, and a smaller -j or -s needs fewer"},
	{is(syscall.ENOBUFS, syscall.ENOMEM), "a smaller -j or -s needs less memory"},
	{is(syscall.EADDRNOTAVAIL), "--ip names no address of this machine"},
	{is(ftpexec.ErrNoCredentials), "--password-stdin or ~/.netrc"},
	{is(urlparse.ErrPort), "FTPFETCH_WITHOUT=portcheck allows it, if an FTP server is there"},
	{is(urlparse.ErrScheme), "for another scheme use curl"},
}

// hint returns what the user of this command line may have expected of a URL that failed, or "".
func (r *run) hint(u *urlparse.URL, err error) string {
	untrusted := as[*tls.CertificateVerificationError](err)
	switch {
	case as[*net.DNSError](err), errors.Is(err, ftpexec.ErrConnect):
		if u.User == nil && u.Redacted() != u.String() {
			return `if the "/" is part of a password, write %2F for it`
		}
	case errors.Is(err, ftpexec.ErrTLSRequired): // the table has it
	case errors.Is(err, ftpexec.ErrLogin), errors.Is(err, ftpexec.ErrNoCredentials):
		return r.loginHint(u)
	case u.Scheme == "ftps" && errors.Is(err, ftpexec.ErrTLS) && !untrusted:
		return "perhaps the server expects ftpes:// in place of ftps://, " +
			"or --tls explicit in place of --tls implicit"
	default:
		return r.flagHint(u, err)
	}
	return ""
}

// oneFlag is a hint that is one flag, which needs no value.
var oneFlag = lazy.Regexp(`^(--?[a-z-]+) (fetches|replaces|saves|shows|takes) [^,;]*$`)

// whole adds the whole command to a hint that is one flag, if the URL is the only one and not only one file of many failed.
func (r *run) whole(hint string) string {
	flag := oneFlag().FindStringSubmatch(hint)
	if flag == nil || len(r.Targets) != 1 || r.lists != nil || r.Many && flag[2] == "replaces" {
		return hint
	}
	return hint + ": ftpfetch " + flag[1] + r.Written()
}

// flagHint is the part of hint that depends on the flags.
func (r *run) flagHint(u *urlparse.URL, err error) string {
	switch {
	case r.Recursive && as[*ftpexec.Error](err) && errors.Is(err, ftpexec.ErrNotFound):
		return "It is not a directory either"
	case r.Info && errors.Is(err, ftpexec.ErrIsDirectory):
		return "-r shows what is in it"
	case r.Many && errors.Is(err, localfile.ErrName): // which have no -o
		return "-o FILE saves it under another name, if it is fetched alone"
	case !r.Reading.KeepDirs && errors.Is(err, localfile.ErrTaken):
		return "--keep-dirs saves each file under the directories of its URL"
	case !r.Glob && mayBePattern(u) && is(ftpexec.ErrNotFound, ftpexec.ErrRefused)(err):
		return "--glob takes it as a pattern of names"
	}
	return ""
}

// loginHint returns what gives a URL without a user one. One with a user has been asked for a password.
func (r *run) loginHint(u *urlparse.URL) string {
	if u.User != nil {
		return ""
	}
	if _, ok := r.logins.file.User(u.Host); ok && !r.logins.names {
		return "-n takes the login for " + u.Host + " from the netrc file"
	}
	return "-u NAME logs in as a user of the server"
}

// mayBePattern reports whether u looks like a pattern of names. One with "=" is rather a query of the web.
func mayBePattern(u *urlparse.URL) bool {
	return strings.ContainsAny(strings.Join(u.Dirs, "")+u.Name, "*?") && !strings.Contains(u.Name, "=")
}

// SignalError is the cause of a context that a signal ended. For errors.Is it matches [context.Canceled].
type SignalError struct{ Signal os.Signal }

// Error returns "interrupted" or names the signal.
func (e *SignalError) Error() string {
	switch e.Signal {
	case syscall.SIGTERM:
		return "stopped by SIGTERM"
	case syscall.SIGHUP:
		return "stopped by SIGHUP"
	}
	return "interrupted"
}

// Is reports whether target is context.Canceled.
func (e *SignalError) Is(target error) bool { return target == context.Canceled }

// NotifyContext returns a context that the first SIGINT, SIGTERM or SIGHUP ends, with a [*SignalError] as its cause. A
// second one ends the process at once. Signals that the process ignored from the start (nohup) stay ignored.
//
// NotifyContext makes the process ignore SIGPIPE, so that a closed standard output is an error like any other.
func NotifyContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Ignore(syscall.SIGPIPE)
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	go func() {
		var cause error
		select {
		case s := <-caught:
			cause = &SignalError{s}
		case <-ctx.Done():
		}
		signal.Stop(caught) // before cancel, so that no second signal is lost
		cancel(cause)
	}()
	return ctx, func() { cancel(nil) }
}

const grace = time.Second                // how long a run may go on after its context has ended
const lastWords = 200 * time.Millisecond // how long the message about the end may take then

// watch leaves the run if it does not call stop within grace after ctx has ended, because nobody reads its output or writes
// its input. A download that is left behind can be resumed: its journal is never older than a second.
func (r *run) watch(ctx context.Context) (stop func()) {
	stopped := make(chan struct{})
	end := context.AfterFunc(ctx, func() {
		select {
		case <-stopped:
			return
		case <-time.After(grace):
		}
		cause := context.Cause(ctx)
		said, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
		defer cancel()
		_ = await(said, func() error { r.print.Failed("", cause, ""); return nil })
		r.left <- exitCode(cause)
	})
	return func() {
		end()
		close(stopped)
	}
}

// limit applies --max-time to something that is left behind if it does not end.
func (r *run) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.MaxTime == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.MaxTime, r.tooLong())
	stop := r.watch(ctx)
	return ctx, sync.OnceFunc(func() {
		stop()
		cancel()
	})
}

func (r *run) tooLong() error {
	return fmt.Errorf("did not finish within --max-time %v%.0w", r.MaxTime, context.DeadlineExceeded)
}

// await calls f and returns its error. If ctx ends first, await returns its cause and leaves f behind: it may read for ever.
func await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
