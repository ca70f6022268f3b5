package netrc

import (
	"errors"
	"io"
	"strings"
)

// parser parses a file.
type parser struct {
	path string
	text string // the unread rest
	line int    // of the start of text, from 1

	file  File
	entry *Entry // the current entry; nil before the first
}

func parse(r io.Reader, path string) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	p := &parser{path: path, text: string(text), line: 1}
	if len(text) > MaxSize {
		return nil, &Error{Path: path, Reason: "is too long"}
	}
	for {
		word, ok := p.keyword()
		if !ok {
			return &p.file, nil
		}
		if err := p.statement(word); err != nil {
			return nil, err
		}
	}
}

func (p *parser) fail(line int, reason string) error {
	return &Error{Path: p.path, Line: line, Reason: reason}
}

// keyword returns the next word where a keyword must be. A "#" there starts a comment.
func (p *parser) keyword() (string, bool) {
	for {
		p.space()
		if !strings.HasPrefix(p.text, "#") {
			break
		}
		p.rest()
	}
	if p.text == "" {
		return "", false
	}
	return p.bare(), true
}

// statement reads what follows word.
func (p *parser) statement(word string) error {
	line := p.line
	switch word {
	case "machine":
		name, err := p.value(word)
		if err != nil {
			return err
		}
		return p.begin(Entry{Machine: name, Line: line})
	case "default":
		return p.begin(Entry{Default: true, Line: line})
	case "macdef":
		return p.macro()
	case "login", "password", "account":
		return p.assign(word, line)
	}
	return p.fail(line, "not a netrc keyword; put quotes around a value that contains a space")
}

// begin starts an entry. An entry after the default entry would never be used.
func (p *parser) begin(e Entry) error {
	if p.entry != nil && p.entry.Default {
		return p.fail(e.Line, "an entry after the default entry is never used: put default last")
	}
	p.file.Entries = append(p.file.Entries, e)
	p.entry = &p.file.Entries[len(p.file.Entries)-1]
	return nil
}

// assign sets one value of the entry.
func (p *parser) assign(word string, line int) error {
	if p.entry == nil {
		return p.fail(line, word+" comes before the first machine")
	}
	value, err := p.value(word)
	if err != nil {
		return err
	}
	twice := false
	switch word {
	case "login":
		twice = p.entry.HasLogin
		p.entry.Login, p.entry.HasLogin = value, true
	case "password":
		twice = p.entry.Password.set
		p.entry.Password = Secret{value, true}
	case "account":
		twice = p.entry.Account.set
		p.entry.Account = Secret{value, true}
	}
	if twice {
		return p.fail(line, "a second "+word+" for one machine: write a machine entry for each login")
	}
	return nil
}

// macro skips a macro definition: its name, and all lines up to an empty one.
func (p *parser) macro() error {
	if _, err := p.value("macdef"); err != nil {
		return err
	}
	p.rest()
	for p.text != "" {
		if line := strings.TrimSuffix(p.rest(), "\r"); line == "" {
			break
		}
	}
	return nil
}

// value reads the value of word, up to white space or in quotes. A "#" is part of it.
func (p *parser) value(word string) (string, error) {
	line := p.line
	p.space()
	if p.text == "" {
		return "", p.fail(line, word+" has no value")
	}
	if p.text[0] != '"' {
		return p.bare(), nil
	}
	line = p.line
	value, err := p.quoted()
	if err != nil {
		return "", p.fail(line, err.Error())
	}
	return value, nil
}

// isSpace reports whether c is white space between words.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (p *parser) space() {
	for p.text != "" && isSpace(p.text[0]) {
		if p.text[0] == '\n' {
			p.line++
		}
		p.text = p.text[1:]
	}
}

// rest returns the rest of the line and skips its end.
func (p *parser) rest() string {
	line, rest, ended := strings.Cut(p.text, "\n")
	if ended {
		p.line++
	}
	p.text = rest
	return line
}

// bare returns the bytes up to white space.
func (p *parser) bare() string {
	end := 0
	for end < len(p.text) && !isSpace(p.text[end]) {
		end++
	}
	word := p.text[:end]
	p.text = p.text[end:]
	return word
}

var (
	errOpen  = errors.New("a quote that is not closed on its line")
	errAfter = errors.New("no space after a closing quote")
)

// quoted reads "...". As in curl, a backslash makes the next byte literal, except that \n, \r and \t stand for
// line feed, carriage return and tab.
func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.text) && p.text[i] != '\n'; i++ {
		switch c := p.text[i]; {
		case c == '"':
			if p.text = p.text[i+1:]; p.text != "" && !isSpace(p.text[0]) {
				return "", errAfter
			}
			return b.String(), nil
		case c != '\\':
			b.WriteByte(c)
		case i+1 < len(p.text) && p.text[i+1] != '\n':
			i++
			b.WriteByte(escaped(p.text[i]))
		}
	}
	return "", errOpen
}

func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}
