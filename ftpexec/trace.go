package ftpexec

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// Trace has functions that are called at the events of a retrieval. [Client.Trace] gets the events of all calls of a
// Client; [WithTrace] makes a context for which the calls that use it get theirs. Any function may be nil.
//
// The functions are called while the call waits, so they should be quick; they must not use the Body of a Response. The
// events of one connection come in order; those of different connections may be concurrent, and so may Closed. Nothing
// that a function gets contains a password. Texts are not escaped for a terminal.
type Trace struct {
	// Wait means that a call waits because the server may have no further connection (see [Client.MaxConns]).
	Wait func(WaitInfo)
	// GotConn means that a call has a control connection: one that was kept, or one that has just been opened. Its TLS,
	// its greeting and the login come later.
	GotConn func(ConnInfo)
	// Secured means that the control connection is under TLS now.
	Secured func(SecuredInfo)
	// Command means that a command is sent.
	Command func(CommandInfo)
	// Reply means that a reply has come; the greeting is one.
	Reply func(ReplyInfo)
	// Transferred means that a transfer is over, of a file or a listing, which the server had begun.
	Transferred func(TransferInfo)
	// Retry means that a connection has failed, and that the call tries again on another one.
	Retry func(RetryInfo)
	// Note tells a person what the Client does or has decided.
	Note func(NoteInfo)
	// Closed means that a control connection is closed. The end of a context may close it in another goroutine. The
	// closing of a connection that no call uses belongs to no call: only the Client's Trace gets it.
	Closed func(ClosedInfo)
}

// WaitInfo says which server a call waits for.
type WaitInfo struct {
	Address string // host:port
}

// ConnInfo says which control connection a call has.
type ConnInfo struct {
	Conn    int    // its number, counted by the Client from 1; every further event of the connection has it
	Address string // host:port of the server
	Remote  string // the address of the other end: the server's, or a proxy's
	Proxied bool   // it is that of a proxy
	Reused  bool   // the connection was kept; it is logged in
}

// SecuredInfo describes the TLS of a control connection.
type SecuredInfo struct {
	Conn int
	TLS  tls.ConnectionState
}

// CommandInfo is a command that is sent.
type CommandInfo struct {
	Conn int    // 0 if the command goes to a proxy that fetches files itself
	Verb string // such as "RETR"
	Text string // the whole command, without CR LF; stars in place of a password
	// Joined says that the command is sent in the same write as the one before it. Otherwise the Client has waited for
	// the earlier replies first.
	Joined bool
}

// ReplyInfo is a reply.
type ReplyInfo struct {
	Conn  int // as in CommandInfo
	Code  int
	Lines []string // as sent, without line ends
}

// TransferInfo describes a transfer that is over.
type TransferInfo struct {
	Conn     int
	Verb     string        // RETR, or the command that lists
	URL      string        // without a password
	Offset   int64         // where the transfer began in the file
	Bytes    int64         // how many have come
	Duration time.Duration // since the server began it
	Err      error         // nil if it is complete
}

// RetryInfo says why a call tries again.
type RetryInfo struct {
	Conn int // the connection that has failed
	URL  string
	Err  error
}

// NoteInfo is a text for a person.
type NoteInfo struct {
	Conn int // 0 if the note concerns none
	Text string
}

// ClosedInfo says which control connection is closed.
type ClosedInfo struct {
	Conn int
	Err  error // why it cannot be used any longer; nil if it could be
}

// WithTrace returns a context for calls whose events trace gets, besides those that ctx and [Client.Trace] have.
func WithTrace(ctx context.Context, trace *Trace) context.Context {
	if ctx == nil || trace == nil {
		return ctx
	}
	outer, _ := ctx.Value(traceKey{}).(*traces)
	return context.WithValue(ctx, traceKey{}, &traces{trace, outer})
}

// traceKey is the key of a context's traces.
type traceKey struct{}

// traces is a list of who gets an event.
type traces struct {
	*Trace
	outer *traces
}

// traces returns who gets the events of a call with this context, or nil.
func (c *Client) traces(ctx context.Context) *traces {
	list, _ := ctx.Value(traceKey{}).(*traces)
	if c.Trace != nil {
		list = &traces{c.Trace, list}
	}
	return list
}

// tell calls a function of each trace, which of returns. The function may be nil.
func tell[T any](list *traces, of func(*Trace) func(T), info T) {
	for ; list != nil; list = list.outer {
		if f := of(list.Trace); f != nil {
			f(info)
		}
	}
}

// tracer passes on the events of a control connection. It is a [wire.Tracer].
type tracer struct {
	*traces
	conn    int
	address string
}

// trace makes the events of the session's connection go to the traces of a call.
func (s *session) trace(list *traces) {
	s.traces = list
	if list == nil {
		s.conn.Trace(nil)
		return
	}
	s.conn.Trace(tracer{list, s.number, s.login.Address()})
}

// again makes the events of a connection that was kept go to the traces of a call.
func (s *session) again(list *traces) {
	s.trace(list)
	if list != nil {
		t := tracer{list, s.number, s.login.Address()}
		t.got(ConnInfo{Remote: s.conn.Remote(), Proxied: s.conn.Proxied(), Reused: true})
	}
}

func (t tracer) Connected(remote string, proxied bool) {
	t.got(ConnInfo{Remote: remote, Proxied: proxied})
}

func (t tracer) got(info ConnInfo) {
	info.Conn = t.conn
	info.Address = t.address
	tell(t.traces, func(to *Trace) func(ConnInfo) { return to.GotConn }, info)
}

func (t tracer) Secured(state tls.ConnectionState) {
	tell(t.traces, func(to *Trace) func(SecuredInfo) { return to.Secured }, SecuredInfo{t.conn, state})
}

func (t tracer) Command(text string, joined bool) {
	verb, _, _ := strings.Cut(text, " ")
	info := CommandInfo{Conn: t.conn, Verb: verb, Text: text, Joined: joined}
	tell(t.traces, func(to *Trace) func(CommandInfo) { return to.Command }, info)
}

func (t tracer) Reply(r wire.Reply) {
	tell(t.traces, func(to *Trace) func(ReplyInfo) { return to.Reply }, ReplyInfo{t.conn, r.Code, r.Lines()})
}

func (t tracer) Note(text string) {
	tell(t.traces, func(to *Trace) func(NoteInfo) { return to.Note }, NoteInfo{t.conn, text})
}

func (t tracer) Closed(err error) {
	if reply, ok := errors.AsType[*wire.ReplyError](err); ok { // it has the text before secrets were masked
		err = &Error{Err: reply.Err, Code: reply.Reply.Code, Reply: reply.Reply.String()}
	}
	tell(t.traces, func(to *Trace) func(ClosedInfo) { return to.Closed }, ClosedInfo{t.conn, err})
}

// tellRetry traces that the run goes on with another connection.
func (r *run) tellRetry(e *Error) {
	info := RetryInfo{Conn: r.number, URL: r.url.Redacted(), Err: e}
	tell(r.traces, func(to *Trace) func(RetryInfo) { return to.Retry }, info)
}

// transferred traces the end of a transfer of n bytes; err is nil if it is complete.
func (r *run) transferred(n int64, err error) {
	if r.traces == nil {
		return
	}
	if err != nil {
		err = r.failure(step{Command: r.goal.op}, err)
	}
	tell(r.traces, func(to *Trace) func(TransferInfo) { return to.Transferred }, TransferInfo{
		Conn: r.number, Verb: r.goal.op.Verb, URL: r.url.Redacted(), Offset: r.goal.offset, Bytes: n,
		Duration: time.Since(r.started), Err: err,
	})
}

// ServerStats counts the connections of a Client to a server.
type ServerStats struct {
	Address     string // host:port
	Connections int    // control connections on which the server has sent its greeting
	Logins      int    // on them
	InUse       int    // calls that have a connection now, or open one
	Idle        int    // connections that are kept for further calls
}

// Stats returns the counts for each server that the Client has been used with, in the order of the addresses.
func (c *Client) Stats() []ServerStats { return c.pool.stats() }
