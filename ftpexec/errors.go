package ftpexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// The errors that an [Error] wraps. Test for them with errors.Is. An Error about a connection also wraps the cause: an
// error of package net, of crypto/tls, or of the system, such as syscall.ECONNREFUSED. If a context ends a retrieval,
// the Error wraps the context's error and its cause instead. If DNS has no address for the host, it wraps a
// [*net.DNSError]. If a server cannot compute a digest, the Error of Hash wraps [errors.ErrUnsupported]. If a URL names
// a file, the Errors of List and Entries wrap [syscall.ENOTDIR].
var (
	// ErrConnect means that a control or data connection could not be opened, or that the greeting refuses service.
	ErrConnect = wire.ErrConnect
	// ErrTLS means that TLS failed. If the server's certificate is the cause, a *tls.CertificateVerificationError is in
	// the chain; if the server refuses with an alert, such as "certificate required", a [tls.AlertError] is.
	ErrTLS = wire.ErrTLS
	// ErrProtocol means that the server does not keep to FTP: it sent a reply that FTP does not allow there, or a reply
	// or a listing that is too long.
	ErrProtocol = wire.ErrProtocol
	// ErrLost means that the connection broke, or that the server ended it (421).
	ErrLost = wire.ErrLost
	// ErrTimeout means that one of the Client's timeouts passed, or that data came too slowly.
	ErrTimeout = wire.ErrTimeout
	// ErrSilent is joined with ErrTimeout if Client.Timeout passed without a reply or a byte.
	ErrSilent = wire.ErrSilent
	// ErrTruncated means that the file did not come as a whole: fewer or more bytes came than the server had announced,
	// or it said at the end that the transfer had failed.
	ErrTruncated = wire.ErrTruncated
	// ErrNoData is joined with ErrTruncated if the server began a transfer, sent not one byte, and then said that the
	// transfer had failed (a reply from 400 to 599, RFC 959 section 4.2).
	ErrNoData = errors.New("no data came")
	// ErrMore is joined with ErrTruncated if more bytes came than the server had announced: the file grows, or the size
	// was wrong.
	ErrMore = errors.New("more bytes than announced")
	// ErrFewer is joined with ErrTruncated if fewer bytes came than the server had announced, and yet it reports
	// success: the file shrinks, the size was wrong, or something between client and server has ended the transfer.
	ErrFewer = errors.New("fewer bytes than announced")
	// ErrLogin means that the server refused the user, the password or the account (USER, PASS, ACCT).
	ErrLogin = errors.New("login refused")
	// ErrNoCredentials means that the URL has no password and Credentials supplied none.
	ErrNoCredentials = errors.New("the server wants a password or account, and none was given")
	// ErrRefused means that the server refused a command that is not part of the login. Error.Op says which.
	ErrRefused = errors.New("refused")
	// ErrNotFound means that the server has no such file or directory, as far as its replies show. FTP has one code,
	// 550, for a missing file and for one that must not be read; some servers use 450. So a transfer that is refused with
	// one of them counts as not found. So does a file of which the server tells neither the size (SIZE) nor the time
	// (MDTM), and one whose transfer is refused with 551 or 425, if the server did not tell its size.
	ErrNotFound = fmt.Errorf("not found%.0w", fs.ErrNotExist)
	// ErrNoRestart means that a transfer cannot begin at the offset: the server refuses that (REST, RFC 3659 section
	// 5), it is known to send the file from its start all the same, nothing shows where it begins, the file is shorter,
	// or the URL asks for text (;type=a), where positions have no meaning.
	ErrNoRestart = errors.New("the server cannot begin in the middle of the file")
	// ErrTooMany means that the server has reached its limit of connections, in total or for this client: its reply says
	// so, or it ends the connection (421) before the login is complete. [errors.Is] also matches the error for what the
	// server refused, such as ErrLogin.
	ErrTooMany = errors.New("too many connections for the server")
	// ErrTLSRequired means that the server accepts this only over TLS: use ftpes or ftps. It is joined with the error
	// for what the server refused, such as ErrLogin, or with ErrConnect if the server speaks TLS from the first byte.
	ErrTLSRequired = errors.New("the server requires TLS")
	// ErrIsDirectory means that a file was asked for, and that the URL names a directory. Every method but List and
	// Entries returns it, for a URL that ends in "/" or ";type=d", and if the server refuses to send the file and lets
	// the client enter it as a directory.
	ErrIsDirectory = errors.New("the URL names a directory, not a file")
	// ErrLine means that one line of a listing is not understood. Entries yields it in place of that entry; after it
	// come the entries of the next lines.
	ErrLine = errors.New("a line of the listing is not understood")
	// ErrDataHost is joined with ErrConnect if the data connection cannot be opened and the server has named another
	// host for it (in its reply to PASV), where the client does not connect; see [Client.PassiveHost].
	ErrDataHost = errors.New("the server names another host for data")
	// ErrChanged means that a file is no longer the one that the caller knows: it has another size than [Request.Size]
	// says, or, in packages ftpfs and download, another size or time than the part that has already come.
	ErrChanged = errors.New("the file has changed on the server")
)

// What the server refuses: each is an [ErrRefused].
var (
	errNoTLS     = refusing("the server does not offer TLS")    // AUTH
	errDirectory = refusing("directory refused")                // CWD
	errType      = refusing("type refused")                     // TYPE
	errPassive   = refusing("no usable answer to EPSV or PASV") // or both refused
	errActive    = refusing("active mode refused")              // EPRT and PORT, or a proxy in use
	errTransfer  = refusing("transfer refused")                 // RETR or a listing

	errClearData = fmt.Errorf("the server does not encrypt data connections%.0w", errNoTLS) // PBSZ or PROT
)

var (
	// errNoHash means that FEAT offers no command for the digest, or that the reply has none.
	errNoHash      = fmt.Errorf("no digest from the server%.0w", errors.ErrUnsupported)
	errOtherServer = errors.New("the URL names another server or login than the first one")
	// The caller has passed nil.
	errNoURL     = &Error{Op: "open", Err: errors.New("ftpexec: no URL")}
	errNoContext = &Error{Op: "open", Err: errors.New("ftpexec: no context: write context.Background()")}

	// A URL names a directory where a file is needed, or the other way round; see [about].
	errIsDirectory  = &Error{Op: "open", Err: ErrIsDirectory, Hint: "use List for a directory"}
	errNotDirectory = &Error{
		Op:   "open",
		Err:  fmt.Errorf("the URL names a file%.0w", syscall.ENOTDIR),
		Hint: `end the URL in "/" or ";type=d"`,
	}
)

// refusing returns an error that is an [ErrRefused], without its text.
func refusing(text string) error { return fmt.Errorf("%s%.0w", text, ErrRefused) }

// answer is what a reply says: its code, and its words as wordsOf returns them. It is a func, because the text is not
// masked and fmt does not print the result of a func.
type answer func() string

// answerTo returns the answer in r, the reply to op, a command about u in a session that is at a place. The text of r
// may repeat the names in op, u and at.
func answerTo(op Command, r wire.Reply, u *urlparse.URL, at place) answer {
	return sync.OnceValue(func() string {
		names := []string{op.Arg}
		stage := verbs[op.Verb].stage
		switch {
		case stage != StageConnect && stage != StageLogin: // before the login, the server knows no other name
			names = slices.Concat(names, []string{u.Name, at.home}, u.Dirs, at.dirs)
		case op.Arg == "anonymous": // a word of some wordings
			names = nil
		}
		return fmt.Sprint(r.Code, " ", wordsOf(r, names))
	})
}

func (r *run) answer(st step, reply wire.Reply) answer {
	return answerTo(st.Command, reply, r.about(st).url, r.place)
}

// Stage is a part of a retrieval.
type Stage string

const (
	StageConnect   Stage = "connect"   // connecting, the server's greeting, and TLS (AUTH, PBSZ and PROT)
	StageLogin     Stage = "login"     // user, password and account (USER, PASS and ACCT)
	StageDirectory Stage = "directory" // entering the directories (CWD)
	StageTransfer  Stage = "transfer"  // the file or listing, from its type (TYPE) to the end of the data
)

// Error describes a failure to retrieve what a URL names.
type Error struct {
	// Stage is the part of the retrieval that failed. It is "" if nothing was sent, or the command is not part of a
	// retrieval, such as HASH.
	Stage Stage
	// the operation that failed: "open", "connect", or a command as sent, such as "CWD pub"; no password
	Op   string
	URL  string // without its password; see [urlparse.URL.Redacted]
	Code int    // the three digits of the reply that decided (RFC 959 section 4.2); 0 if there was none
	// the code and last line of that reply; "" if there was none; secrets masked, not escaped for a terminal
	Reply string
	Hint  string // what to write instead, or ""
	// Err wraps one of the errors of this package, an error of Credentials, or a context's cause. After the
	// login it also matches [fs.ErrPermission] if the text of the reply says that access is denied, and for a refused CWD,
	// MLSD or LIST [fs.ErrNotExist] if it says that there is no such directory. The code alone does not tell: RFC 959 has
	// only 550 for both.
	Err error

	answer answer // Reply for decisions; nil if there was none
	final  bool   // although the code is 4yz
	breaks bool   // the connection cannot be used after the reply
	// RETR was refused for a reason that the server does not say
	perhapsDirectory bool
}

// Error returns one line that is safe to print on a terminal. It contains no password.
func (e *Error) Error() string {
	s := "failed"
	if e.Err != nil {
		s = e.Err.Error()
	}
	switch verb, arg, _ := strings.Cut(e.Op, " "); {
	case verb == "CWD": // the other refusals say enough
		s = strings.Replace(s, errDirectory.Error(), "cannot enter "+cmp.Or(arg, `""`), 1)
	case errors.Is(e.Err, ErrProtocol) && e.Op != "connect":
		s = e.Op + ": " + s
	}
	s = printable.Line(s)
	if e.URL != "" {
		s = e.URL + ": " + s
	}
	switch {
	case e.Code != 0:
		s += " (" + printable.Line(cut(e.Reply)) + ")"
		if e.Hint != "" {
			s += ". " + e.Hint
		}
	case e.Hint != "":
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// cut bounds what an error shows of a reply or a line.
func cut(s string) string {
	if len(s) > 300 {
		return strings.ToValidUTF8(s[:300], "") + "..."
	}
	return s
}

// Retryable reports whether the same request may succeed later. It is true for replies from 400 to 499, with which a
// server refuses for the moment (RFC 959 section 4.2), for [ErrTooMany], [ErrTimeout], [ErrLost] and [ErrTruncated],
// and for [ErrConnect] without a reply. It is false for [ErrTLSRequired], if a context has ended, and if this machine
// failed: the process or the system has too many open files or too little memory, or the local address that Dial asks
// for cannot be used. Any other error is retryable only if it has a method Retryable() bool that returns true.
func Retryable(err error) bool {
	if knows, ok := errors.AsType[interface {
		error
		Retryable() bool
	}](err); ok {
		return knows.Retryable()
	}
	e, ok := errors.AsType[*Error](err)
	return ok && e.retryable()
}

func (e *Error) retryable() bool {
	_, stopped := errors.AsType[*guard.Stopped](e.Err)
	lasting := wire.IsOneOf(e.Err, ErrTLSRequired, errPartial, errNoTicket, errComputing, wire.ErrMute)
	if stopped || e.final || lasting || localfile.Failed(e.Err) {
		return false
	}
	return e.Code/100 == 4 || wire.IsOneOf(e.Err, ErrTooMany, ErrTimeout, ErrLost, ErrTruncated) ||
		errors.Is(e.Err, ErrConnect) && e.Code == 0
}

// entering reports whether the login was not complete.
func (e *Error) entering() bool { return e.Stage == StageConnect || e.Stage == StageLogin }

// Timeout reports whether e is an [ErrTimeout], a context's deadline, or a timeout of the system.
func (e *Error) Timeout() bool {
	var cause net.Error
	return wire.IsOneOf(e.Err, ErrTimeout, context.DeadlineExceeded) ||
		errors.As(e.Err, &cause) && cause.Timeout()
}

func newError(op Command, u *urlparse.URL, err error) *Error {
	return &Error{Stage: verbs[op.Verb].stage, Op: op.shown(), URL: u.Redacted(), Err: err}
}

// failure returns err as an *Error of a step. It returns an *Error unchanged.
func (r *run) failure(st step, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	e := newError(st.Command, r.url, err)
	if reply, ok := errors.AsType[*wire.ReplyError](err); ok {
		e.take(reply.Reply, r.answer(st, reply.Reply))
		e.Err = reply.Err
	} else if errors.Is(err, wire.ErrUnsendable) {
		e.Err = and(verbs[st.Verb].refused, err)
	}
	if errors.Is(err, ErrNoCredentials) {
		e.Hint = "write ftp://user:password@host/ or supply it in another way"
	}
	e.readLimits(st.Command, r.conn.Secure())
	return e
}

// unless makes the end of ctx the reason for e if ctx has ended, because any other error is then a consequence. The
// reply stays.
func (e *Error) unless(ctx context.Context) *Error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		<-ctx.Done() // a dialer watches the deadline itself, and may act an instant before ctx
	}
	if ctx.Err() != nil {
		e.Err = guard.Stop(ctx)
		e.Hint = ""
	}
	return e
}

// errUnexpected means a reply whose first digit is neither a success nor a refusal for its command.
var errUnexpected = fmt.Errorf("%w", ErrProtocol)

// and joins what failed with the reason; what may be nil.
func and(what, why error) error {
	if what == nil {
		return why
	}
	return fmt.Errorf("%w: %w", what, why)
}

func (e *Error) take(reply wire.Reply, a answer) {
	e.Code = reply.Code
	e.Reply = reply.String()
	e.answer = a
}

// refuse sets the Err and Hint of e, an unsuccessful reply to op. Err is nil if the server may refuse op. For a command
// that names a file, 550 and 450 mean "not found" unless the text mentions permissions: RFC 959 section 4.2 gives both
// meanings to 550 ("file not found, no access"). A GridFTP server says "not found" with 500.
func (e *Error) refuse(op Command) {
	e.Hint = ""
	e.Err = verbs[op.Verb].refused
	switch {
	case op.Verb == "CWD" && op.Arg == "":
		e.Hint = "An empty segment sends CWD with a null argument; %2F names the root"
	case verbs[op.Verb].finds && e.absence():
		e.Err = ErrNotFound
	case op.Verb == "PBSZ" || op.Verb == "PROT":
		e.Err = fmt.Errorf("%w: it refuses %s", errClearData, op.Verb)
		if strings.HasPrefix(e.URL, "ftps:") {
			e.Hint = "Perhaps a relay adds TLS to a server that has none: write ftp:// and that server's own port, " +
				"where the network is trusted"
		}
	}
}

// isDirectory makes e, a RETR that brought nothing, say that the URL names a directory.
func (e *Error) isDirectory() {
	e.Err = and(errTransfer, ErrIsDirectory)
	e.Hint = `End the URL in "/" to list it`
	e.perhapsDirectory = false
	e.final = true
}

// absence reports whether the reply, to a command that names a file, means that there is no such file.
func (e *Error) absence() bool {
	absence := e.Code == 550 || e.Code == 450 || e.Code == 500 && e.answer.means(absent)
	return absence && !e.answer.means(denied)
}

// general reports whether another command may meet the same refusal, whatever it names.
func (e *Error) general() bool {
	return wire.IsOneOf(e, ErrTooMany, ErrTLSRequired, ErrTruncated, ErrProtocol)
}
