package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// What callers branch on, with errors.Is. Context errors stay context errors.
var (
	ErrResolve        = wire.ErrResolve
	ErrConnect        = wire.ErrConnect
	ErrProtocol       = wire.ErrProtocol
	ErrLost           = wire.ErrLost
	ErrTimeout        = wire.ErrTimeout
	ErrTruncated      = wire.ErrTruncated // fewer or more octets than announced, or the server says so
	ErrTLSHandshake   = wire.ErrTLSHandshake
	ErrCertificate    = wire.ErrCertificate
	ErrTLSUnavailable = errors.New("server does not offer TLS")
	ErrLogin          = errors.New("login refused")
	ErrNoCredentials  = errors.New("server asks for a password or account, and none is given")
	ErrDirectory      = errors.New("directory refused")                             // CWD
	ErrType           = errors.New("type refused")                                  // TYPE
	ErrPassive        = errors.New("no usable answer to EPSV or PASV")              // and refused ones
	ErrActive         = errors.New("active mode refused")                           // EPRT and PORT
	ErrNoRestart      = errors.New("server cannot begin in the middle of the file") // REST
	ErrRefused        = errors.New("transfer refused")                              // for another cause than absence
	ErrNotFound       = errors.New("not found")
	ErrNoHash         = errors.New("server offers no such digest")        // HASH, XSHA256, ...
	ErrTooMany        = errors.New("too many connections for the server") // beside the error of what it refused
	ErrTLSRequired    = errors.New("server requires TLS")                 // beside the error of what it refused
	ErrIsDirectory    = errors.New("URL names a directory, not a file")
	ErrNotDirectory   = errors.New("URL names a file, not a directory")
	ErrBusy           = errors.New("session is busy: close the Body of the last Response first")
)

// Stage is the part of a run that failed.
type Stage int

// The stages of a run.
const (
	StageOther     Stage = iota // nothing was sent, or it only informs
	StageConnect                // the connection and its protection, up to the login
	StageLogin                  // USER, PASS, ACCT
	StageDirectory              // CWD
	StageTransfer               // TYPE, the data connection, RETR or NLST, and the data
)

// verbs are where a command belongs, and what its refusal means; those that are not here only inform.
var verbs = map[string]struct {
	stage   Stage
	refused error
}{
	"connect": {StageConnect, ErrConnect}, "AUTH": {StageConnect, ErrTLSUnavailable}, "PBSZ": {StageConnect, ErrTLSUnavailable},
	"PROT": {StageConnect, ErrTLSUnavailable}, "USER": {StageLogin, ErrLogin}, "PASS": {StageLogin, ErrLogin}, "ACCT": {StageLogin, ErrLogin},
	"CWD": {StageDirectory, ErrDirectory}, "TYPE": {StageTransfer, ErrType}, "REST": {StageTransfer, ErrNoRestart},
	"EPSV": {StageTransfer, ErrPassive}, "PASV": {StageTransfer, ErrPassive}, "EPRT": {StageTransfer, ErrActive}, "PORT": {StageTransfer, ErrActive},
	"RETR": {StageTransfer, ErrRefused}, "NLST": {StageTransfer, ErrRefused},
}

// Reply is one reply of a server (RFC 959 section 4.2): its Code is 100 to 599, its Text its lines without the codes,
// joined by LF, octets as sent but for secrets, which are masked.
type Reply = wire.Reply

// says returns the text of r in lower case, as it was before masking: no decision depends on a secret. name is left
// out where it stands as a word: a server may repeat it.
func says(r *Reply, name string) string {
	text := strings.ToLower(strings.ToValidUTF8(r.Raw(), "?"))
	if name == "" {
		return text
	}
	word := regexp.QuoteMeta(strings.ToLower(strings.ToValidUTF8(name, "?")))
	return regexp.MustCompile(`(^|\PL)`+word+`(\PL|$)`).ReplaceAllString(text, "$1$2")
}

// Error is a failure to retrieve what a URL names.
type Error struct {
	Stage Stage  // where it failed
	Op    string // what failed: "connect", or a command such as "CWD pub"; octets
	URL   string // redacted
	Reply *Reply // the server's reply that decided; nil where there was none
	Hint  string // what to write instead, or ""
	Err   error  // one of the sentinels of this package, or a context's error, with its cause
}

// Error returns one line that is safe to print on a terminal.
func (e *Error) Error() string {
	s := e.URL + ": " + printable.Line(e.Op) + ": " + printable.Line(e.Err.Error())
	if e.Reply != nil {
		s += ": server says " + printable.Line(cut(e.Reply.String()))
	}
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// maxShown is how much of a reply's line an error shows, in octets.
const maxShown = 300

func cut(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:maxShown], "") + "..."
	}
	return s
}

// Temporary reports whether the same request may succeed later: replies 4yz, [ErrTooMany], timeouts, connections
// lost or refused, incomplete transfers; never [ErrTLSRequired].
func (e *Error) Temporary() bool {
	if errors.Is(e.Err, ErrTLSRequired) {
		return false
	}
	if e.Reply != nil && e.Reply.Code/100 == 4 {
		return true
	}
	for _, t := range []error{ErrTooMany, ErrTimeout, ErrLost, ErrTruncated} {
		if errors.Is(e.Err, t) {
			return true
		}
	}
	return errors.Is(e.Err, ErrConnect) && e.Reply == nil
}

// Timeout reports whether e is a reply, a connection or an octet that did not come in time, as [net.Error] wants it.
func (e *Error) Timeout() bool {
	return errors.Is(e.Err, ErrTimeout) || errors.Is(e.Err, context.DeadlineExceeded)
}

// failure is the error of op where err is why; secure tells that the server was spoken to under TLS. What was judged
// already stays as it is.
func failure(u *urlparse.URL, op Command, secure bool, err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	e := &Error{Stage: verbs[op.Verb].stage, Op: op.shown(), URL: u.Redacted(), Err: err}
	var reply *wire.ReplyError
	if errors.As(err, &reply) {
		e.Reply, e.Err = &reply.Reply, reply.Err
	} else if errors.Is(err, wire.ErrUnsendable) {
		e.Err = and(verbs[op.Verb].refused, err)
	}
	if errors.Is(err, ErrNoCredentials) {
		e.Hint = "write ftp://user:password@host/ or give it another way"
	}
	e.readLimits(op, secure)
	return e
}

// unless gives e the cause of ctx where that has ended: then all else follows from it.
func (e *Error) unless(ctx context.Context) *Error {
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		<-ctx.Done() // a dialer keeps the deadline itself, and may be an instant ahead of ctx
	}
	if ctx.Err() != nil {
		e.Reply, e.Hint, e.Err = nil, "", context.Cause(ctx)
	}
	return e
}

func (s *Session) failure(op Command, err error) *Error {
	return failure(s.url, op, s.conn.Secure(), err)
}

// errUnexpected is a reply whose first digit makes no sense for its command: neither success nor refusal.
var errUnexpected = fmt.Errorf("%w", ErrProtocol)

// refused is the error of a reply r to op that is no success. After one that makes no sense another may or may not
// follow, so that the connection is of no use any more.
func (s *Session) refused(op Command, r wire.Reply) *Error {
	e := &Error{Stage: verbs[op.Verb].stage, Op: op.shown(), URL: s.url.Redacted(), Reply: &r}
	e.Hint, e.Err = refusal(op, e.Reply)
	if r.First() == 1 || r.First() == 3 {
		e.Err = and(e.Err, errUnexpected)
	}
	if errors.Is(e.Err, errUnexpected) || e.Stage == StageConnect {
		s.conn.Abandon(e)
	}
	e.readLimits(op, s.conn.Secure())
	return e
}

// and joins what failed with why.
func and(what, why error) error {
	if what == nil {
		return why
	}
	return fmt.Errorf("%w: %w", what, why)
}

// refusal is what a reply to op means that is no success; nil where op only informs.
func refusal(op Command, r *Reply) (hint string, meaning error) {
	switch {
	case op.Verb == "RETR", op.Verb == "NLST":
		return transferRefusal(op, r)
	case op.Verb == "CWD" && op.Arg == "":
		hint = "an empty segment sends CWD with a null argument; %2F names the root"
	}
	return hint, verbs[op.Verb].refused
}

// transferRefusal reads the reply to RETR or NLST. 550 and 450 mean absence unless the text speaks of rights
// (RFC 959 section 4.2: "file not found, no access").
func transferRefusal(op Command, r *Reply) (hint string, meaning error) {
	text := says(r, op.Arg)
	switch {
	case r.Code != 550 && r.Code != 450, strings.Contains(text, "denied"), strings.Contains(text, "permission"):
		return "", ErrRefused
	case op.Verb == "RETR":
		return `if it is a directory, end the URL in "/"`, ErrNotFound
	}
	return "", ErrNotFound
}

// shown is the command in an error's Op.
func (c Command) shown() string {
	if c.Password != PasswordNone || c.Verb == "USER" {
		return c.Verb
	}
	return c.Line()
}
