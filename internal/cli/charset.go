package cli

import (
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/mirror"
	"example.com/ftpfetch/urlparse"
)

// charsets are those that --charset names.
var charsets = map[string]*charmap.Charmap{
	"latin1": charmap.ISO8859_1,
	"latin2": charmap.ISO8859_2,
	"latin9": charmap.ISO8859_15,
	"cp437":  charmap.CodePage437,
	"cp850":  charmap.CodePage850,
	"cp1251": charmap.Windows1251,
	"cp1252": charmap.Windows1252,
	"koi8-r": charmap.KOI8R,
}

// charset is a source on a server whose names are in another charset: here, in URLs too, they are in UTF-8. It sends and
// receives them octet for octet. A nil charset changes nothing.
type charset struct {
	mirror.Client
	name string
	*charmap.Charmap
}

// text returns a name of the server in UTF-8.
func (c *charset) text(octets string) string {
	var text strings.Builder
	for _, octet := range []byte(octets) {
		text.WriteRune(c.decode(octet))
	}
	return text.String()
}

// decode returns the character for an octet. One that the charset leaves open is a control character, as in Latin-1.
func (c *charset) decode(octet byte) rune {
	r := c.DecodeByte(octet)
	if r == utf8.RuneError {
		return rune(octet)
	}
	return r
}

// octets returns a name as the server has it. ok is false if the charset lacks one of its characters.
func (c *charset) octets(text string) (octets string, ok bool) {
	var name strings.Builder
	for _, r := range text {
		octet, ok := c.EncodeRune(r)
		if !ok && r < 0x100 {
			octet = byte(r)
			ok = c.decode(octet) == r
		}
		if !ok {
			return text, false
		}
		name.WriteByte(octet)
	}
	return name.String(), true
}

// read returns a name that somebody has written: in UTF-8, or octet by octet.
func (c *charset) read(name string) string {
	if c == nil || utf8.ValidString(name) {
		return name
	}
	return c.text(name)
}

// settle makes the names of a URL that somebody has written UTF-8. It refuses one that the server cannot have.
func (c *charset) settle(u *urlparse.URL) error {
	if c == nil {
		return nil
	}
	*u = *renamed(u, c.read)
	for _, name := range append(u.Dirs[:len(u.Dirs):len(u.Dirs)], u.Name) {
		if _, ok := c.octets(name); !ok {
			return config.Usage("%s: --charset %s cannot write %s: drop --charset", u.Redacted(), c.name, name)
		}
	}
	return nil
}

// sent returns the URL whose names are sent.
func (c *charset) sent(u *urlparse.URL) *urlparse.URL {
	if c == nil {
		return u
	}
	return renamed(u, func(name string) string {
		octets, _ := c.octets(name)
		return octets
	})
}

// renamed returns u with other names.
func renamed(u *urlparse.URL, name func(string) string) *urlparse.URL {
	other := *u
	other.Dirs = nil
	for _, dir := range u.Dirs {
		other.Dirs = append(other.Dirs, name(dir))
	}
	other.Name = name(u.Name)
	return &other
}

// entry returns an entry with its names in UTF-8.
func (c *charset) entry(e ftpexec.Entry) ftpexec.Entry {
	e.Name = c.text(e.Name)
	e.Target = c.text(e.Target)
	if e.URL != nil {
		e.URL = renamed(e.URL, c.text)
	}
	return e
}

func (c *charset) entries(all entries) entries {
	return func(yield func(ftpexec.Entry, error) bool) {
		for e, err := range all {
			if !yield(c.entry(e), err) {
				return
			}
		}
	}
}

func (c *charset) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	sent := *req
	sent.URL = c.sent(req.URL)
	return c.Client.Do(ctx, &sent)
}

func (c *charset) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	e, err := c.Client.Stat(ctx, c.sent(u))
	return c.entry(e), err
}

func (c *charset) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	return c.Client.Hash(ctx, c.sent(u), algorithm)
}

func (c *charset) List(ctx context.Context, u *urlparse.URL) entries {
	return c.entries(c.Client.List(ctx, c.sent(u)))
}

func (c *charset) Entries(ctx context.Context, u *urlparse.URL) entries {
	return c.entries(c.Client.Entries(ctx, c.sent(u)))
}

func (c *charset) EntriesEarly(ctx context.Context, u *urlparse.URL, entry func(ftpexec.Entry),
	login func(string)) entries {
	if told := entry; told != nil {
		entry = func(e ftpexec.Entry) { told(c.entry(e)) }
	}
	if told := login; told != nil {
		login = func(dir string) { told(c.text(dir)) }
	}
	return c.entries(c.Client.EntriesEarly(ctx, c.sent(u), entry, login))
}

func (c *charset) StatAll(ctx context.Context, urls []*urlparse.URL) entries {
	sent := make([]*urlparse.URL, len(urls))
	for i, u := range urls {
		sent[i] = c.sent(u)
	}
	return c.entries(c.Client.StatAll(ctx, sent))
}
