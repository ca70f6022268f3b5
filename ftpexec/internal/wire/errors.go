package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/localfile"
)

// The errors of a connection. Every error of this package wraps one of these, [ErrUnsendable], a context's cause, or an
// error of the Dial function.
var (
	ErrResolve   = errors.New("cannot find the host")
	ErrConnect   = errors.New("cannot connect") // for control or data; or the greeting refuses service
	ErrLost      = errors.New("connection lost")
	ErrTimeout   = errors.New("timed out")
	ErrProtocol  = errors.New("the reply makes no sense")
	ErrTruncated = errors.New("transfer incomplete")
	ErrTLS       = errors.New("TLS handshake failed")
)

// ErrListing means a listing that is longer than Config.MaxListing, or that has a line too long for its reader.
var ErrListing = fmt.Errorf("%w: listing too long, or a line of it", ErrProtocol)

// ReplyError is an error for a reply that ends the connection, such as 421.
type ReplyError struct {
	Reply Reply
	Err   error // what the reply means
}

func (e *ReplyError) Error() string { return e.Err.Error() + ": " + e.Reply.String() }

func (e *ReplyError) Unwrap() error { return e.Err }

// AheadError is an error that commands sent ahead may have caused. One command at a time may work.
type AheadError struct{ error }

func (e *AheadError) Unwrap() error { return e.error }

// Disorder is the error for a reply that cannot be the one to its command, but belongs to one sent later.
func Disorder(r Reply) error {
	return &AheadError{senseless("replies in another order than the commands", r.String())}
}

// DataDialError is an [ErrConnect] for a data connection.
type DataDialError struct{ error }

func (e *DataDialError) Error() string { return "data connection: " + e.error.Error() }
func (e *DataDialError) Unwrap() error { return e.error }

// errStray is the error for a reply without a command.
var errStray = senseless("a reply without a command", "")

// senseless returns an [ErrProtocol] that quotes the beginning of a line, if there is one.
func senseless(reason, line string) error {
	if line != "" {
		reason += fmt.Sprintf(": %q", line[:min(len(line), 80)])
	}
	return fmt.Errorf("%w: %s", ErrProtocol, reason)
}

func timedOut(what string, limit time.Duration) error {
	return fmt.Errorf("%w: %s for %s", ErrTimeout, what, lasting(limit))
}

// lasting formats a limit as people write it: 2m, not 2m0s.
func lasting(limit time.Duration) string { return strings.Replace(limit.String(), "m0s", "m", 1) }

// because returns an error that is both what and why, and that shows why without its addresses.
func because(what, why error) error {
	return fmt.Errorf("%w: %s%.0w", what, strings.TrimPrefix(plain(why).Error(), "tls: "), why)
}

// explain wraps an error of the system in one of this package's.
func explain(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case err == nil || err == io.EOF || isOneOf(err, ErrConnect, ErrLost, ErrTimeout, ErrProtocol, ErrTLS):
		return err
	case errors.As(err, &dns) && shortageIn(dns) != nil:
		return fmt.Errorf("%w: %w%.0w", ErrConnect, shortageIn(dns), err)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%w%.0w", ErrResolve, err)
	case errors.As(err, &dns) && !dns.IsTimeout:
		return fmt.Errorf("%w: %s%.0w", ErrResolve, dns.Err, err)
	case errors.Is(err, net.ErrClosed): // by this package
		return ErrLost
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w%.0w", ErrLost, err)
	case errors.As(err, &op) && op.Op == "dial" && plain(err) != syscall.ECONNRESET: // which follows a connection that was accepted
		return because(ErrConnect, err)
	case errors.As(err, &op):
		return because(ErrLost, withAlert(err))
	}
	return err
}

// shortageIn returns the shortage that kept a name from being resolved, or nil. A DNSError has it only as text.
func shortageIn(dns *net.DNSError) error {
	if i := slices.IndexFunc(localfile.Shortages, func(s error) bool { return strings.HasSuffix(dns.Err, s.Error()) }); i >= 0 {
		return localfile.Shortages[i]
	}
	return nil
}

func isOneOf(err error, known ...error) bool {
	return slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) })
}

// plain removes addresses and the name of the system call from err, for a message to a person.
func plain(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err
	}
	if call, ok := err.(*os.SyscallError); ok {
		return call.Err
	}
	return err
}

func disconnected(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &op) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed)
}
