package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// normalise turns the server's reply to a command into the reply that jlaffaye/ftp wants, one line without
// CR LF. RFC 1123 section 4.1.2.11 tells a client to decide by the first digit; the library insists on
// exact codes, and panics on some texts.
func normalise(verb string, r Reply) (string, error) {
	switch verb {
	case "USER":
		return decide(verb, r, 230, 331)
	case "PASS":
		return decide(verb, r, 230, 0)
	case "TYPE":
		return decide(verb, r, 200, 0)
	case "CWD":
		return decide(verb, r, 250, 0)
	case "REST":
		return restart(r), nil
	case "SIZE":
		return value(r, sizeValue), nil
	case "MDTM":
		return value(r, timeValue), nil
	case "PWD":
		return pwdValue(r), nil
	case "EPSV":
		return extended(r), nil
	case "PASV":
		return passive(r)
	case "FEAT":
		return features(r.ok() && hasLine(r.raw, "UTF8")), nil
	case "OPTS":
		return opts(r), nil
	}
	return fmt.Sprintf("%03d %s", r.Code, oneLine(r.last())), nil
}

// UnexpectedError is a reply whose first digit makes no sense for its command: neither success nor refusal. After a
// 1yz another reply may or may not follow, so that the connection is of no use any more.
type UnexpectedError struct {
	Verb  string
	Reply Reply
}

func (e *UnexpectedError) Error() string {
	return "wrong kind of reply to " + e.Verb + ": " + e.Reply.String()
}

// decide answers with the code that the library knows for a 2yz or 3yz; 0 where this makes no sense.
func decide(verb string, r Reply, done, intermediate int) (string, error) {
	code := r.Code
	switch r.first() {
	case 2:
		code = done
	case 3:
		code = intermediate
	}
	if code == 0 {
		return "", &UnexpectedError{verb, r}
	}
	return fmt.Sprintf("%03d %s", code, oneLine(r.last())), nil
}

// restart answers REST (RFC 3659 section 5.3). Anything but a 3yz means that the file would come whole.
func restart(r Reply) string {
	if r.first() == 3 {
		return "350 " + oneLine(r.last())
	}
	return "502 " + oneLine(r.last())
}

// value answers with a 213 whose text is just the value, or with a 550 where there is none to be read:
// SIZE and MDTM only inform.
func value(r Reply, parse func(string) (string, bool)) string {
	if v, ok := parse(strings.TrimSpace(r.rawLast())); r.ok() && ok {
		return "213 " + v
	}
	return "550 " + oneLine(r.last())
}

// sizeValue is RFC 3659 section 4: a number of octets.
func sizeValue(s string) (string, bool) {
	_, err := strconv.ParseInt(s, 10, 64)
	return s, err == nil && digits(s)
}

// timeValue is RFC 3659 section 2.3: YYYYMMDDHHMMSS, UTC; the fraction is taken off.
func timeValue(s string) (string, bool) {
	s, _, _ = strings.Cut(s, ".")
	return s, len(s) == 14 && digits(s)
}

// pwdValue is RFC 959 appendix II: the directory in quotes, a quote in it doubled. The library takes what
// stands between the first quote and the last.
func pwdValue(r Reply) string {
	if !r.ok() {
		return "550 " + oneLine(r.last())
	}
	dir, ok := quoted(r.raw)
	if !ok {
		return "550 no directory in quotes"
	}
	return `257 "` + dir + `"`
}

// quoted returns the text between the first quote of s and its partner, with doubled quotes made single.
func quoted(s string) (string, bool) {
	_, s, ok := strings.Cut(s, `"`)
	var b strings.Builder
	for ok {
		var part string
		part, s, ok = strings.Cut(s, `"`)
		b.WriteString(part)
		if ok && !strings.HasPrefix(s, `"`) {
			return b.String(), !strings.ContainsAny(b.String(), "\r\n\x00")
		}
		if ok {
			b.WriteByte('"')
			s = s[1:]
		}
	}
	return "", false
}

// extended answers EPSV. Whatever is no usable port makes the library try PASV.
func extended(r Reply) string {
	if p, ok := extendedPort(r.rawLast()); ok && r.ok() {
		return fmt.Sprintf("229 (|||%d|)", p)
	}
	return "500 " + oneLine(r.last())
}

// passive answers PASV. The address is left out: it is not used.
func passive(r Reply) (string, error) {
	if !r.ok() {
		return oneLine(r.String()), nil
	}
	p, ok := passivePort(r.raw)
	if !ok {
		return "", fmt.Errorf("%w to PASV: %w", ErrPassive, &ReplyError{r})
	}
	return fmt.Sprintf("227 (0,0,0,0,%d,%d)", p>>8, p&0xff), nil
}

// opts answers OPTS UTF8 ON. Names are octets in any case; a refusal changes nothing.
func opts(r Reply) string {
	if r.ok() {
		return "200 " + oneLine(r.last())
	}
	return "501 " + oneLine(r.last())
}

func hasLine(text, want string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.EqualFold(strings.TrimSpace(line), want) {
			return true
		}
	}
	return false
}

// oneLine keeps a text from being taken for another reply.
func oneLine(s string) string { return lineEnds.Replace(s) }

var lineEnds = strings.NewReplacer("\r", " ", "\n", " ", "\x00", " ")
