package wire

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits on replies, in bytes, so that a server cannot exhaust memory. Greetings of a few kilobytes are common; no honest
// reply comes near the limits.
const (
	maxLine  = 64 << 10  // of one line, without its end
	maxReply = 256 << 10 // of all lines together
)

// Reply is one reply of the server (RFC 959 section 4.2).
type Reply struct {
	Code int    // 100 to 599
	Text string // the text of its lines without the codes of the first and last, joined by LF; secrets masked
	raw  string // Text before masking, because no decision may depend on a secret
}

// Raw returns Text as sent.
func (r Reply) Raw() string { return r.raw }

// LastLine returns the last line of Raw.
func (r Reply) LastLine() string { return r.raw[strings.LastIndexByte(r.raw, '\n')+1:] }

// First returns the first digit of the code, which decides (RFC 1123 section 4.1.2.11).
func (r Reply) First() int { return r.Code / 100 }

// OK reports whether r is a positive completion reply, 2yz.
func (r Reply) OK() bool { return r.First() == 2 }

// answers are the codes 2yz that answer commands other than a transfer. At the end of one they belong to another command.
var answers = []int{200, 202, 211, 212, 213, 214, 215, 220, 221, 225, 227, 228, 229, 230, 232, 234, 257}

// Ends reports whether r may be the positive end of a transfer.
func (r Reply) Ends() bool { return r.OK() && !slices.Contains(answers, r.Code) }

// opens reports whether r is the reply to PASV or EPSV, which no other command gets.
func (r Reply) opens() bool { return r.Code == 227 || r.Code == 229 }

// String returns the code and the last line that says something, for an error message: some servers end every reply of
// several lines in "End". The caller escapes it for a terminal.
func (r Reply) String() string {
	text, last := "", r.Text
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		text, last = last[:i], last[i+1:]
	}
	if text != "" && strings.EqualFold(strings.Trim(last, " ."), "end") {
		last = strings.TrimPrefix(text[strings.LastIndexByte(text, '\n')+1:], fmt.Sprintf("%03d-", r.Code))
	}
	return fmt.Sprintf("%03d %s", r.Code, last)
}

// NewReply returns a reply whose Text is not masked.
func NewReply(code int, text string) Reply { return Reply{code, text, text} }

// readReply reads a reply of one or more lines and cuts the code off its first and last line. A line may end in LF alone,
// as some servers send it.
func readReply(r *bufio.Reader, mask func(string) string) (Reply, error) {
	line, err := readLine(r, maxReply)
	if err != nil {
		return Reply{}, err
	}
	code, reason := codeOf(line)
	if reason != "" {
		return Reply{}, senseless(reason, mask(line))
	}
	lines, left := []string{cutCode(line)}, maxReply-len(line)
	for more := len(line) > 3 && line[3] == '-'; more; lines = append(lines, line) {
		if line, err = readLine(r, left); err != nil {
			return Reply{}, err
		}
		left -= len(line) + 1
		if end := strconv.Itoa(code); line == end || strings.HasPrefix(line, end+" ") { // some servers send the code alone
			line, more = cutCode(line), false
		}
	}
	text := strings.Join(lines, "\n")
	return Reply{code, mask(text), text}, nil
}

// codeOf returns the code of a reply's first line, or what RFC 959 section 4.2 does not allow in it.
func codeOf(line string) (code int, reason string) {
	if len(line) < 3 || strings.Trim(line[:3], "0123456789") != "" {
		return 0, "it does not start with three digits"
	}
	if code, _ = strconv.Atoi(line[:3]); code < 100 || code > 599 {
		return 0, "code out of range"
	}
	if len(line) > 3 && line[3] != ' ' && line[3] != '-' {
		return 0, "no space or hyphen after the code"
	}
	return code, ""
}

func cutCode(line string) string { return line[min(4, len(line)):] }

// readLine reads a line of at most left bytes and cuts off the LF at its end and the CRs before it.
func readLine(r *bufio.Reader, left int) (string, error) {
	for line := ""; ; {
		part, err := r.ReadSlice('\n')
		line += string(part)
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
