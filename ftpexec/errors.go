package ftpexec

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/printable"
)

// What callers branch on, with errors.Is. Context errors stay context errors.
var (
	ErrResolve        = errors.New("host not resolved")
	ErrConnect        = errors.New("no connection")
	ErrProtocol       = errors.New("reply makes no sense")
	ErrDirectory      = errors.New("directory refused")                // CWD
	ErrPassive        = errors.New("no usable answer to EPSV or PASV") // and refused ones
	ErrActive         = errors.New("active mode refused")
	ErrType           = errors.New("type refused")
	ErrTruncated      = errors.New("transfer incomplete") // fewer or more octets than announced, or the server says so
	ErrRefused        = errors.New("transfer refused")    // for another cause than absence
	ErrTimeout        = errors.New("timed out")
	ErrTLSHandshake   = errors.New("TLS handshake failed")
	ErrCertificate    = errors.New("certificate not trusted")
	ErrTLSUnavailable = errors.New("server does not offer TLS")
	ErrLogin          = errors.New("login refused")
	ErrNotFound       = errors.New("not found")
	ErrNoCredentials  = errors.New("server asks for a password or account, and none is given")
	ErrTooMany        = errors.New("too many connections for the server") // beside the error of what it refused
	ErrTLSRequired    = errors.New("server requires TLS")                 // beside the error of what it refused
	ErrLost           = errors.New("connection lost")
	ErrNoRestart      = errors.New("server cannot begin in the middle of the file") // REST
	ErrNoHash         = errors.New("server offers no such digest")                  // HASH, XSHA256, ...
	ErrIsDirectory    = errors.New("URL names a directory, not a file")
	ErrNotDirectory   = errors.New("URL names a file, not a directory")
	ErrBusy           = errors.New("session is busy: close the Body of the last Response first")
)

// Reply is one reply of a server (RFC 959 section 4.2).
type Reply struct {
	Code int    // 100 to 599
	Text string // its lines without the codes, joined by LF; octets as sent, secrets masked

	raw string // Text before masking: no decision depends on a secret
}

// says returns the text in lower case, without name where it stands as a word: a server may repeat it.
func (r *Reply) says(name string) string {
	text, name := strings.ToLower(r.raw), strings.ToLower(name)
	if name == "" {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, name)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if endsInLetter(b.String()) || beginsWithLetter(after) {
			b.WriteString(name)
		}
		text = after
	}
}

func endsInLetter(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func beginsWithLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// Error is a failure to retrieve what a URL names.
type Error struct {
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
		s += fmt.Sprintf(": server says %03d %s", e.Reply.Code, printable.Line(cut(lastLine(e.Reply.Text))))
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

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

func publicReply(r *wire.Reply) *Reply {
	if r == nil {
		return nil
	}
	return &Reply{r.Code, r.Text, r.Raw()}
}

// meanings is the one table from what the layer below reports to what callers see, first match first.
var meanings = []struct{ below, meaning error }{
	{wire.ErrTLSHandshake, ErrTLSHandshake},
	{wire.ErrTLSUnavailable, ErrTLSUnavailable},
	{wire.ErrSecret, fmt.Errorf("%w: %w", ErrLogin, wire.ErrSecret)},
	{wire.ErrPassive, ErrPassive},
	{wire.ErrListing, fmt.Errorf("%w: listing too long, or a line of it", ErrProtocol)},
	{wire.ErrActive, ErrActive},
	{wire.ErrGreeting, ErrConnect},
	{wire.ErrDataDial, ErrConnect},
	{wire.ErrTimeout, ErrTimeout},
	{io.ErrUnexpectedEOF, ErrLost},
	{net.ErrClosed, ErrLost},
}

// meaning gives an error of the connections its sentinel, with what more there is to say of the cause.
func meaning(err error) error {
	var (
		syntax *wire.SyntaxError
		dns    *net.DNSError
		op     *net.OpError
		cert   *tls.CertificateVerificationError
		reply  *wire.ReplyError
		secret *wire.SecretError
	)
	switch {
	case errors.As(err, &secret) && !errors.Is(err, wire.ErrSecret):
		return secret.Err
	case errors.As(err, &cert):
		return fmt.Errorf("%w: %w", ErrCertificate, cert.Err)
	case errors.As(err, &dns) && !dns.IsTimeout:
		return fmt.Errorf("%w: %s", ErrResolve, dns.Err)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: %s", ErrProtocol, strings.TrimPrefix(syntax.Error(), "reply makes no sense: "))
	}
	for _, m := range meanings {
		if errors.Is(err, m.below) {
			return withCause(m.meaning, err)
		}
	}
	switch {
	case errors.As(err, &reply):
		return ErrLost
	case errors.As(err, &op) && op.Op == "dial":
		return withCause(ErrConnect, err)
	case errors.As(err, &op):
		return withCause(ErrLost, err)
	}
	return err
}

// withCause joins a sentinel with the innermost text that tells more.
func withCause(sentinel, err error) error {
	var op *net.OpError
	var reply *wire.ReplyError
	var data *wire.DataDialError
	var late *wire.TimeoutError
	switch {
	case errors.As(err, &reply):
		return sentinel
	case errors.As(err, &op):
		return fmt.Errorf("%w: %s", sentinel, plain(op.Err))
	case errors.As(err, &late):
		return fmt.Errorf("%w: %s", sentinel, late.What)
	case errors.As(err, &data):
		return fmt.Errorf("%w: %w", sentinel, data.Err)
	}
	return sentinel
}

// plain leaves out the name of a system call, which says nothing to a person.
func plain(err error) error {
	if call, ok := err.(*os.SyscallError); ok {
		return call.Err
	}
	return err
}

// failure is the error of one run: what the context says first, then what ended the connection, then what
// the server's reply to op means.
func (s *Session) failure(ctx context.Context, op Command, err error) *Error {
	e := &Error{Op: op.shown(), URL: s.url.Redacted(), Reply: s.replyTo(op)}
	var reply *wire.ReplyError
	var unexpected *wire.UnexpectedError
	below := s.control.Err()
	if end, ok := ctx.Deadline(); ok && !time.Now().Before(end) {
		<-ctx.Done() // a dialer keeps the deadline itself, and may be an instant ahead of ctx
	}
	if verb := s.control.Last().Verb; slices.Contains(setUps[op.Verb], verb) && op.Verb != "login" {
		op = Command{Verb: verb}
	}
	switch {
	case ctx.Err() != nil:
		e.Reply, e.Err = nil, context.Cause(ctx)
	case errors.As(below, &unexpected):
		if op.Verb != unexpected.Verb {
			op = Command{Verb: unexpected.Verb}
		}
		e.Op, e.Reply = op.shown(), publicReply(&unexpected.Reply)
		_, e.Err = refusal(op, e.Reply, nil)
		e.Err = and(e.Err, ErrProtocol)
	case below == nil:
		e.Op = op.shown()
		e.Hint, e.Err = refusal(op, e.Reply, err)
	case errors.As(below, &reply):
		e.Reply, e.Err = publicReply(&reply.Reply), meaning(below)
	default:
		e.Reply, e.Err = nil, meaning(below)
	}
	if errors.Is(e.Err, ErrNoCredentials) {
		e.Hint = "write ftp://user:password@host/ or give it another way"
	}
	e.readLimits(op, s.control.Secure())
	return e
}

// and joins what failed with why.
func and(what, why error) error {
	if what == nil {
		return why
	}
	return fmt.Errorf("%w: %w", what, why)
}

// setUps are the commands that belong to another one.
var setUps = map[string][]string{"login": {"USER", "PASS"}, "RETR": {"EPSV", "PASV", "REST"}, "NLST": {"EPSV", "PASV"}}

// replyTo returns the server's reply to op or to what belongs to it; nil where the last reply was to another
// command.
func (s *Session) replyTo(op Command) *Reply {
	last := s.control.Last()
	if last.Verb != op.Verb && !slices.Contains(setUps[op.Verb], last.Verb) {
		return nil
	}
	return publicReply(last.Reply)
}

// refusal is what a negative reply to op means.
func refusal(op Command, r *Reply, err error) (hint string, meaning error) {
	switch op.Verb {
	case "login", "USER", "PASS", "ACCT":
		return "", ErrLogin
	case "AUTH", "PBSZ", "PROT":
		return "", ErrTLSUnavailable
	case "EPRT", "PORT":
		return "", ErrActive
	case "CWD":
		if op.Arg == "" {
			return "an empty segment sends CWD with a null argument; %2F names the root", ErrDirectory
		}
		return "", ErrDirectory
	case "TYPE":
		return "", ErrType
	case "REST":
		return "", ErrNoRestart
	case "EPSV", "PASV":
		return "", ErrPassive
	}
	if r == nil || op.Verb != "RETR" && op.Verb != "NLST" {
		return "", err
	}
	return transferRefusal(op, r)
}

// transferRefusal reads the reply to RETR or NLST. 550 and 450 mean absence unless the text speaks of rights
// (RFC 959 section 4.2: "file not found, no access").
func transferRefusal(op Command, r *Reply) (hint string, meaning error) {
	text := r.says(op.Arg)
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
	if c.Password != PasswordNone {
		return c.Verb
	}
	return wire.HideSlip(c.Line())
}
