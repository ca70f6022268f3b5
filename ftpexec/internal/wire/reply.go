package wire

import (
	"bufio"
	"fmt"
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

func (r Reply) rawLast() string { return r.raw[strings.LastIndexByte(r.raw, '\n')+1:] }

// first returns the digit that decides (RFC 1123 section 4.1.2.11).
func (r Reply) first() int { return r.Code / 100 }

// ok reports a positive completion, 2yz.
func (r Reply) ok() bool { return r.first() == 2 }

// last returns the text of the last line.
func (r Reply) last() string { return r.Text[strings.LastIndexByte(r.Text, '\n')+1:] }

// String returns the reply in one line, for an error message. The caller escapes it for a terminal.
func (r Reply) String() string { return r.code() + " " + r.last() }

func (r Reply) code() string { return fmt.Sprintf("%03d", r.Code) }

// SyntaxError is a reply that RFC 959 section 4.2 does not allow.
type SyntaxError struct {
	Line   string // the octets that came, of which Error shows 80
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Line == "" {
		return "reply makes no sense: " + e.Reason
	}
	return fmt.Sprintf("reply makes no sense: %s: %q", e.Reason, e.Line[:min(len(e.Line), 80)])
}

func syntaxError(line, reason string) error { return &SyntaxError{Line: line, Reason: reason} }

// readReply reads one reply of one or many lines. A line may end in LF alone, as some servers send it.
// Of a reply with many lines the codes at the start of the first and the last are taken off.
func readReply(r *bufio.Reader) (Reply, error) {
	reply, err := readText(r)
	reply.raw = reply.Text
	return reply, err
}

func readText(r *bufio.Reader) (Reply, error) {
	line, err := readLine(r, maxReply)
	if err != nil {
		return Reply{}, err
	}
	code, more, err := parseFirst(line)
	if err != nil || !more {
		return Reply{Code: code, Text: cutCode(line)}, err
	}
	lines, left := []string{cutCode(line)}, maxReply-len(line)
	for {
		line, err := readLine(r, left)
		if err != nil {
			return Reply{}, err
		}
		left -= len(line) + 1
		if endsReply(line, code) {
			return Reply{Code: code, Text: strings.Join(append(lines, cutCode(line)), "\n")}, nil
		}
		lines = append(lines, line)
	}
}

// parseFirst takes the code of a reply's first line, and whether more lines follow.
func parseFirst(line string) (code int, more bool, err error) {
	if len(line) < 3 || !digits(line[:3]) {
		return 0, false, syntaxError(line, "no three digits at its start")
	}
	code = int(line[0]-'0')*100 + int(line[1]-'0')*10 + int(line[2]-'0')
	if code < 100 || code > 599 {
		return 0, false, syntaxError(line, "code out of range")
	}
	if len(line) > 3 && line[3] != ' ' && line[3] != '-' {
		return 0, false, syntaxError(line, "no space or hyphen behind the code")
	}
	return code, len(line) > 3 && line[3] == '-', nil
}

// endsReply reports whether line is the last of a reply with this code: the code and a space, or,
// as some servers send it, the code alone.
func endsReply(line string, code int) bool {
	c := fmt.Sprintf("%03d", code)
	return line == c || strings.HasPrefix(line, c+" ")
}

func cutCode(line string) string {
	if len(line) <= 4 {
		return ""
	}
	return line[4:]
}

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

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
