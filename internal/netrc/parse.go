package netrc

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// parser parses a file.
type parser struct {
	File
	text string // the unread rest
	line int    // of the start of text, from 1
}

// Parse reads a netrc file from r. Errors name path.
func Parse(r io.Reader, path string) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case len(text) > maxSize:
		return nil, Unusable(path, "is too long")
	}
	p := &parser{File: File{path: path}, text: string(text), line: 1}
	for p.space(); p.text != ""; p.space() {
		if p.text[0] == '#' { // a comment, but only where a keyword may be
			p.rest()
		} else if err := p.statement(); err != nil {
			return nil, err
		}
	}
	return &p.File, nil
}

func (p *parser) fail(line int, reason string) error {
	return Unusable(p.path, fmt.Sprintf("line %d: %s", line, reason))
}

var keywords = []string{"machine", "default", "login", "password", "account", "macdef"}

// statement reads a keyword and what follows it.
func (p *parser) statement() (err error) {
	line, word, value := p.line, p.bare(), ""
	if !slices.Contains(keywords, word) {
		return p.fail(line, "not a netrc keyword; put quotes around a value that contains a space")
	}
	if word != "default" {
		if value, err = p.value(word); err != nil {
			return err
		}
	}
	var last entry // which a login belongs to
	if n := len(p.entries); n > 0 {
		last = p.entries[n-1]
	}
	_, twice := last.words[word]
	switch begins := word == "machine" || word == "default"; {
	case word == "macdef": // up to an empty line
		for p.rest(); p.text != "" && strings.TrimSuffix(p.rest(), "\r") != ""; {
		}
	case begins && last.rest:
		return p.fail(line, "an entry after the default entry is never used: put default last")
	case begins:
		p.entries = append(p.entries, entry{value, word == "default", make(map[string]string)})
	case last.words == nil:
		return p.fail(line, word+" comes before the first machine")
	case twice:
		return p.fail(line, "a second "+word+" for one machine: write a machine entry for each login")
	default:
		last.words[word] = value
	}
	return nil
}

// value reads the value of word, up to white space or in quotes. A "#" is part of it.
func (p *parser) value(word string) (string, error) {
	line := p.line
	p.space()
	switch {
	case p.text == "":
		return "", p.fail(line, word+" has no value")
	case p.text[0] == '"':
		return p.quoted()
	}
	return p.bare(), nil
}

// blanks is the white space between words.
const blanks = " \t\r\n"

func (p *parser) space() {
	rest := strings.TrimLeft(p.text, blanks)
	p.line += strings.Count(p.text[:len(p.text)-len(rest)], "\n")
	p.text = rest
}

// rest returns the rest of the line and skips its end.
func (p *parser) rest() (line string) {
	line, rest, ended := strings.Cut(p.text, "\n")
	if ended {
		p.line++
	}
	p.text = rest
	return line
}

// bare returns the bytes up to white space.
func (p *parser) bare() string {
	word := p.text
	if end := strings.IndexAny(p.text, blanks); end >= 0 {
		word = p.text[:end]
	}
	p.text = p.text[len(word):]
	return word
}

// escapes has the bytes that do not stand for themselves after a backslash, as in curl.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t'}

// quoted reads "...".
func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.text) && p.text[i] != '\n'; i++ {
		c := p.text[i]
		if c == '"' {
			if p.text = p.text[i+1:]; p.text != "" && !strings.ContainsRune(blanks, rune(p.text[0])) {
				return "", p.fail(p.line, "no space after a closing quote")
			}
			return b.String(), nil
		}
		if c == '\\' && i+1 < len(p.text) && p.text[i+1] != '\n' {
			i++
			c = p.text[i]
			if special, ok := escapes[c]; ok {
				c = special
			}
		}
		b.WriteByte(c)
	}
	return "", p.fail(p.line, "a quote that is not closed on its line")
}
