package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// Limits on replies, in bytes, so that a server cannot exhaust memory. Greetings of a few kilobytes are common; no
// honest reply comes near the limits.
const maxLine = 64 << 10   // of one line, without its end
const maxReply = 256 << 10 // of all lines together

// Reply is one reply of the server (RFC 959 section 4.2).
type Reply struct {
	Code int    // 100 to 599
	Text string // the text of its lines without the codes of the first and last, joined by LF; secrets masked
	Raw  string // Text as sent, before masking, because no decision may depend on a secret
}

// Lines returns the lines of r with their codes; secrets masked.
func (r Reply) Lines() []string {
	lines := strings.Split(r.Text, "\n")
	last := len(lines) - 1
	if last > 0 {
		lines[0] = fmt.Sprintf("%03d-%s", r.Code, lines[0])
	}
	lines[last] = fmt.Sprintf("%03d %s", r.Code, lines[last])
	return lines
}

// LastLine returns the last line of Raw.
func (r Reply) LastLine() string { return r.Raw[strings.LastIndexByte(r.Raw, '\n')+1:] }

// First returns the first digit of the code, which decides (RFC 1123 section 4.1.2.11).
func (r Reply) First() int { return r.Code / 100 }

// OK reports whether r is a positive completion reply, 2yz.
func (r Reply) OK() bool { return r.First() == 2 }

// answers are the codes 2yz that answer commands other than a transfer. At the end of a transfer they belong to another
// command.
var answers = []int{200, 202, 211, 212, 213, 214, 215, 220, 221, 225, 227, 228, 229, 230, 232, 234, 257}

// Ends reports whether r may be the positive end of a transfer.
func (r Reply) Ends() bool { return r.OK() && !slices.Contains(answers, r.Code) }

// opens reports whether r is the reply to PASV or EPSV, which no other command gets.
func (r Reply) opens() bool { return r.Code == 227 || r.Code == 229 }

// String returns the code and the last line that says something, for an error message: some servers end every reply of
// several lines in "End". The caller escapes it for a terminal.
func (r Reply) String() string {
	text := ""
	last := r.Text
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		text = last[:i]
		last = last[i+1:]
	}
	if text != "" && strings.EqualFold(strings.Trim(last, " ."), "end") {
		last = text[strings.LastIndexByte(text, '\n')+1:]
		last = strings.TrimPrefix(last, fmt.Sprintf("%03d-", r.Code))
	}
	return fmt.Sprintf("%03d %s", r.Code, last)
}

// read reads one reply within limit and traces it. It returns 421 as an error.
func (c *Conn) read(limit time.Duration) (Reply, error) {
	c.setReadDeadline(limit)
	if c.silent && c.br.Buffered() == 0 {
		c.quickAck()
	}
	c.silent = true
	c.limit = limit
	c.last = time.Time{}
	r, err := readReply(c.br, c.cfg.Secrets.Mask)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return r, c.late(limit)
	case errors.Is(err, io.EOF):
		return r, io.ErrUnexpectedEOF
	case err != nil:
		return r, err
	}
	if c.tracer != nil {
		c.tracer.Reply(r)
	}
	if r.Code == 421 {
		return r, &ReplyError{r, ErrLost}
	}
	return r, nil
}

// setReadDeadline bounds the next read. The bound is short if the data connection has failed. It ignores an error,
// because the read then fails too.
func (c *Conn) setReadDeadline(limit time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		limit = min(limit, grace(c.dataErr))
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(limit))
}

// mostExtended bounds how long a reply of several lines may take, in limits for one line.
const mostExtended = 60

// goesOn is called after each line of a reply but the last. A line is a sign of life: a server that brings a file from a
// tape may send one now and then. So the next line has the whole limit again, but all lines together have no more than
// mostExtended limits.
func (c *Conn) goesOn() {
	c.begun()
	if c.br.Buffered() > 0 {
		return
	}
	if c.last.IsZero() {
		c.last = time.Now().Add(mostExtended * c.limit)
	}
	c.setReadDeadline(min(c.limit, time.Until(c.last)))
}

// late returns the error for a reply that did not come within limit.
func (c *Conn) late(limit time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dataErr != nil {
		return c.dataErr
	}
	verb, _, _ := strings.Cut(c.asked, " ")
	switch {
	case c.ending:
		return silent("no reply at the end of the transfer", limit)
	case verb == "":
		return silent("no greeting", limit)
	}
	return silent("no reply to "+verb, limit)
}

// lineReader reads the lines of replies. A server sends many of them again and again; their text is stored only once.
type lineReader struct {
	*bufio.Reader
	more func()    // called after each line of a reply but the last
	last [8]string // the latest first
}

// text returns line as a string.
func (r *lineReader) text(line []byte) string {
	for i, s := range r.last {
		if s == string(line) {
			r.latest(s, i)
			return s
		}
	}
	s := string(line)
	if len(s) < 80 {
		r.latest(s, len(r.last)-1)
	}
	return s
}

// latest makes s the latest line, in place of the one at i.
func (r *lineReader) latest(s string, i int) {
	copy(r.last[1:i+1], r.last[:i])
	r.last[0] = s
}

// readReply reads a reply of one or more lines and cuts the code off its first and last line. A line may end in LF
// alone, as some servers send it.
func readReply(r *lineReader, mask func(string) string) (Reply, error) {
	line, err := readLine(r, maxReply)
	if err != nil {
		return Reply{}, err
	}
	code, err := strconv.Atoi(line[:min(3, len(line))])
	// RFC 959 section 4.2
	if err != nil || code < 100 || code > 599 || strings.Trim(line[3:min(4, len(line))], " -") != "" {
		const reason = "it does not start with three digits from 100 to 599, and a space or hyphen"
		return Reply{}, senseless(reason, mask(line))
	}
	all := []string{cutCode(line)}
	left := maxReply - len(line)
	for more := len(line) > 3 && line[3] == '-'; more; all = append(all, line) {
		r.more()
		if line, err = readLine(r, left); err != nil {
			return Reply{}, err
		}
		left -= len(line) + 1
		end := strconv.Itoa(code)
		if line == end || strings.HasPrefix(line, end+" ") { // some servers send the code alone
			line = cutCode(line)
			more = false
		}
	}
	text := strings.Join(all, "\n")
	return Reply{code, mask(text), text}, nil
}

func cutCode(line string) string { return line[min(4, len(line)):] }

// readLine reads a line of at most left bytes and cuts off the LF at its end and the CRs before it.
func readLine(r *lineReader, left int) (string, error) {
	for line := ""; ; {
		part, err := r.ReadSlice('\n')
		if line == "" {
			line = r.text(part)
		} else {
			line += string(part)
		}
		switch text := strings.TrimRight(line, "\r\n"); {
		case len(text) > maxLine:
			return "", senseless("line too long", "")
		case len(line) > left:
			return "", senseless("reply too long", "")
		case err != nil && err != bufio.ErrBufferFull:
			return "", err
		case err == nil:
			return text, nil
		}
	}
}

const stars = "********"

// minSecret is the length of the shortest secret that is masked. Shorter ones occur by chance in what a server
// sends, and masking them would reveal them.
const minSecret = 3

// maxSecrets bounds how many secrets are remembered. The secret used longest ago is forgotten first.
const maxSecrets = 1024

// Secrets remembers the passwords and accounts that a client has sent. A server, or another one with the same name or
// proxy, may repeat them on any later connection, so all connections of a client share a Secrets. The zero value is
// ready to use. It is safe for concurrent use. Package fmt, which prints unexported fields too, shows no secret.
type Secrets struct {
	mu   sync.Mutex
	used func() []string // the latest last; nil if there are none
	hide func(text string) string
}

// Add remembers a secret that is about to be sent.
func (s *Secrets) Add(secret string) {
	if len(secret) < minSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var used []string
	if s.used != nil {
		used = s.used()
	}
	used = append(slices.DeleteFunc(used, func(known string) bool { return known == secret }), secret)
	used = used[max(0, len(used)-maxSecrets):]
	s.used = func() []string { return used }
	byLength := func(a, b string) int { return len(b) - len(a) }
	longest := slices.SortedStableFunc(slices.Values(used), byLength)
	var pairs []string
	for _, secret := range longest { // one may contain another
		pairs = append(pairs, secret, stars)
	}
	s.hide = strings.NewReplacer(pairs...).Replace
}

// Mask returns text with stars in place of every secret.
func (s *Secrets) Mask(text string) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hide == nil {
		return text
	}
	return s.hide(text)
}

// The errors of a connection. Every error of this package wraps one of these, [ErrUnsendable], a context's cause, or an
// error of the Dial function.
var (
	ErrResolve         = errors.New("cannot find the host")
	ErrConnect         = errors.New("cannot connect") // for control or data; or the greeting refuses service
	ErrLost            = errors.New("connection lost")
	ErrTimeout   error = timeout{}
	ErrSilent          = errors.New("nothing came within Timeout") // with ErrTimeout
	ErrProtocol        = errors.New("the reply makes no sense")
	ErrTruncated       = errors.New("transfer incomplete")
	ErrTLS             = errors.New("TLS handshake failed")
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

// ErrDisorder means that a reply cannot be the one to its command, but belongs to another one.
var ErrDisorder = fmt.Errorf("%w: replies in another order than the commands", ErrProtocol)

// Disorder returns an [ErrDisorder] that shows the reply.
func Disorder(r Reply) error { return fmt.Errorf("%w: %q", ErrDisorder, shortened(r.String())) }

// DataDialError is an [ErrConnect] for a data connection.
type DataDialError struct{ error }

func (e *DataDialError) Error() string { return "data connection: " + e.error.Error() }
func (e *DataDialError) Unwrap() error { return e.error }

// ErrStray means a reply that came before the command was sent to which it might belong.
var ErrStray = senseless("a reply without a command", "")

// senseless returns an [ErrProtocol] that quotes the beginning of a line, if there is one.
func senseless(reason, line string) error {
	if line != "" {
		reason += fmt.Sprintf(": %q", shortened(line))
	}
	return fmt.Errorf("%w: %s", ErrProtocol, reason)
}

// shortened bounds what an error shows of a line.
func shortened(line string) string { return line[:min(len(line), 80)] }

func timedOut(what string, limit time.Duration) error {
	return fmt.Errorf("%w: %s for %s", ErrTimeout, what, lasting(limit))
}

// silent returns a timeout that is an [ErrSilent] too.
func silent(what string, limit time.Duration) error {
	return fmt.Errorf("%w%.0w", timedOut(what, limit), ErrSilent)
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
	case err == nil || err == io.EOF || IsOneOf(err, ErrConnect, ErrLost, ErrTimeout, ErrProtocol, ErrTLS):
		return err
	case errors.As(err, &dns) && unresolved(dns, err) != nil:
		return unresolved(dns, err)
	case errors.Is(err, net.ErrClosed): // by this package
		return ErrLost
	case IsOneOf(err, io.ErrUnexpectedEOF, io.ErrClosedPipe):
		return fmt.Errorf("%w%.0w", ErrLost, err)
	case errors.As(err, &op) && ofTLS(op):
		return afterHandshake(op)
	// ECONNRESET follows a connection that was accepted
	case errors.As(err, &op) && op.Op == "dial" && plain(err) != syscall.ECONNRESET:
		return because(ErrConnect, err)
	case errors.As(err, &op):
		return because(ErrLost, err)
	}
	return err
}

// unresolved returns why a name has no address, or nil after a timeout, which counts as a timeout of the connection.
func unresolved(dns *net.DNSError, err error) error {
	shortage := shortageIn(dns)
	switch {
	case shortage != nil:
		return fmt.Errorf("%w: %w%.0w", ErrConnect, shortage, err)
	case dns.IsNotFound:
		return fmt.Errorf("%w%.0w", ErrResolve, err)
	case !dns.IsTimeout:
		return fmt.Errorf("%w: %s%.0w", ErrResolve, dns.Err, err)
	}
	return nil
}

// shortageIn returns the shortage that kept a name from being resolved, or nil. A DNSError has it only as text.
func shortageIn(dns *net.DNSError) error {
	for _, shortage := range localfile.Shortages {
		if strings.HasSuffix(dns.Err, shortage.Error()) {
			return shortage
		}
	}
	return nil
}

// IsOneOf reports whether errors.Is finds one of the known errors in err.
func IsOneOf(err error, known ...error) bool {
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
	return IsOneOf(err, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE) ||
		errors.As(err, &op) && !ofTLS(op) && !IsOneOf(err, os.ErrDeadlineExceeded, net.ErrClosed)
}

// timeout is a [net.Error], for callers that look for one.
type timeout struct{}

func (timeout) Error() string   { return "timed out" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }
