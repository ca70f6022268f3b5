package wire

import (
	"strconv"
	"strings"
)

// extendedPort reads the port of a 229 reply (RFC 2428 section 3): "(<d><d><d><port><d>)", whatever the
// delimiter; the protocol and address fields are left empty, and ignored where they are not.
func extendedPort(text string) (int, bool) {
	open := strings.LastIndexByte(text, '(')
	if open < 0 || open+1 >= len(text) {
		return 0, false
	}
	end := strings.IndexByte(text[open:], ')')
	if end < 0 {
		return 0, false
	}
	fields := strings.Split(text[open+1:open+end], text[open+1:open+2])
	if len(fields) != 5 {
		return 0, false
	}
	return port(fields[3])
}

// passivePort reads the port of a 227 reply. RFC 1123 section 4.1.2.6: the text is not fixed; scan for the
// six numbers. The address is left alone: data comes from the host that the control connection leads to.
func passivePort(text string) (int, bool) {
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' || (i > 0 && text[i-1] >= '0' && text[i-1] <= '9') {
			continue
		}
		if n, ok := sixNumbers(text[i:]); ok {
			return n[4]<<8 | n[5], n[4]<<8|n[5] != 0
		}
	}
	return 0, false
}

// sixNumbers reads "h1,h2,h3,h4,p1,p2" at the start of s.
func sixNumbers(s string) (n [6]int, ok bool) {
	for k := range n {
		end := 0
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		v, err := strconv.Atoi(s[:end])
		if err != nil || v > 255 {
			return n, false
		}
		n[k], s = v, s[end:]
		if k < 5 {
			s = strings.TrimLeft(s, " ")
			if !strings.HasPrefix(s, ",") {
				return n, false
			}
			s = strings.TrimLeft(s[1:], " ")
		}
	}
	return n, true
}

func port(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil && n > 0 && digits(s)
}
