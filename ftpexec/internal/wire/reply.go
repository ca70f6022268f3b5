package wire

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
)

// Bounds on what a server may say, so that none can fill the memory. Greetings of a few kilobytes are
// common; no honest reply comes near these.
const (
	maxLine  = 64 << 10  // octets of one reply line, its end not counted
	maxReply = 256 << 10 // octets of one reply, all lines together
)

// Reply is one reply of the server (RFC 959 section 4.2).
type Reply struct {
	Code int    // 100 to 599
	Text string // the text of its lines without the codes of the first and last, joined by LF; secrets masked
	raw  string // Text as sent: what is read from it must not depend on a secret
}

// Raw returns Text as sent.
func (r Reply) Raw() string { return r.raw }

// LastLine returns the last line of Raw.
func (r Reply) LastLine() string { return r.raw[strings.LastIndexByte(r.raw, '\n')+1:] }

// First returns the digit that decides (RFC 1123 section 4.1.2.11).
func (r Reply) First() int { return r.Code / 100 }

// OK reports a positive completion, 2yz.
func (r Reply) OK() bool { return r.First() == 2 }

// String returns the code and the last line, for an error message. The caller escapes it for a terminal.
func (r Reply) String() string {
	return fmt.Sprintf("%03d %s", r.Code, r.Text[strings.LastIndexByte(r.Text, '\n')+1:])
}

// SyntaxError is a reply that RFC 959 section 4.2 does not allow: an [ErrProtocol].
type SyntaxError struct {
	Line   string // the octets that came, of which Error shows 80
	Reason string
}

func (e *SyntaxError) Error() string {
	text := ErrProtocol.Error() + ": " + e.Reason
	if e.Line != "" {
		text += fmt.Sprintf(": %q", e.Line[:min(len(e.Line), 80)])
	}
	return text
}

// Is makes e an [ErrProtocol].
func (e *SyntaxError) Is(target error) bool { return target == ErrProtocol }

func syntaxError(line, reason string) error { return &SyntaxError{Line: line, Reason: reason} }

// NewReply returns the reply that a server sends as code and text.
func NewReply(code int, text string) Reply { return Reply{code, text, text} }

// readReply reads one reply of one or many lines. A line may end in LF alone, as some servers send it.
// Of a reply with many lines the codes at the start of the first and the last are taken off.
func readReply(r *bufio.Reader) (Reply, error) {
	line, err := readLine(r, maxReply)
	if err != nil {
		return Reply{}, err
	}
	code, more, err := parseFirst(line)
	var text strings.Builder
	text.WriteString(cutCode(line))
	left := maxReply - len(line)
	for more && err == nil {
		if line, err = readLine(r, left); err != nil {
			break
		}
		left -= len(line) + 1
		if end := strconv.Itoa(code); line == end || strings.HasPrefix(line, end+" ") { // the code alone, as some servers send it
			line, more = cutCode(line), false
		}
		text.WriteString("\n" + line)
	}
	return NewReply(code, text.String()), err
}

// parseFirst takes the code of a reply's first line, and whether more lines follow.
func parseFirst(line string) (code int, more bool, err error) {
	if len(line) < 3 || !digits(line[:3]) {
		return 0, false, syntaxError(line, "no three digits at its start")
	}
	if code, _ = strconv.Atoi(line[:3]); code < 100 || code > 599 {
		return 0, false, syntaxError(line, "code out of range")
	}
	if len(line) > 3 && line[3] != ' ' && line[3] != '-' {
		return 0, false, syntaxError(line, "no space or hyphen behind the code")
	}
	return code, len(line) > 3 && line[3] == '-', nil
}

func cutCode(line string) string { return line[min(4, len(line)):] }

// readLine reads up to LF and takes off the LF and the CRs before it.
func readLine(r *bufio.Reader, left int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case len(text) > maxLine:
			return "", syntaxError(text, "line too long")
		case len(line) > left:
			return "", syntaxError("", "reply too long")
		case err != nil && err != bufio.ErrBufferFull:
			return "", err
		case err == nil:
			return text, nil
		}
	}
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }
