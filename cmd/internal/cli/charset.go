package cli

import (
	"context"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// charsets are the character sets that --charset names.
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

// charset is a source whose server names files in another character set. On this side, also in URLs, names are in
// UTF-8; the names sent and received are in the server's character set. A nil charset changes nothing.
type charset struct {
	download.FullSource
	name string
	*charmap.Charmap
}

var _ download.FullSource = (*charset)(nil)

// text returns a name of the server in UTF-8.
func (c *charset) text(octets string) string {
	var text strings.Builder
	for _, octet := range []byte(octets) {
		text.WriteRune(c.decode(octet))
	}
	return text.String()
}

// decode returns the character for an octet. An octet that the charset leaves undefined is a control character, as in
// Latin-1.
func (c *charset) decode(octet byte) rune {
	r := c.DecodeByte(octet)
	if r == utf8.RuneError {
		return rune(octet)
	}
	return r
}

// octets returns a name in the server's charset. ok is false if the charset lacks one of the characters.
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

// read returns, in UTF-8, a name that the user wrote in UTF-8 or octet by octet.
func (c *charset) read(name string) string {
	if c == nil || utf8.ValidString(name) {
		return name
	}
	return c.text(name)
}

// toUTF8 converts the names of a URL that the user wrote to UTF-8. It refuses a name that the server's charset cannot
// express.
func (c *charset) toUTF8(u *urlparse.URL) error {
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

// sent returns u with its names as they are sent to the server.
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
	return c.FullSource.Do(ctx, &sent)
}

func (c *charset) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	e, err := c.FullSource.Stat(ctx, c.sent(u))
	return c.entry(e), err
}

func (c *charset) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	return c.FullSource.Hash(ctx, c.sent(u), algorithm)
}

func (c *charset) List(ctx context.Context, u *urlparse.URL) entries {
	return c.entries(c.FullSource.List(ctx, c.sent(u)))
}

func (c *charset) Entries(ctx context.Context, u *urlparse.URL) entries {
	return c.entries(c.FullSource.Entries(ctx, c.sent(u)))
}

func (c *charset) EntriesEarly(ctx context.Context, u *urlparse.URL, entry func(ftpexec.Entry),
	login func(string)) entries {
	if told := entry; told != nil {
		entry = func(e ftpexec.Entry) { told(c.entry(e)) }
	}
	if told := login; told != nil {
		login = func(dir string) { told(c.text(dir)) }
	}
	return c.entries(c.FullSource.EntriesEarly(ctx, c.sent(u), entry, login))
}

func (c *charset) StatAll(ctx context.Context, urls []*urlparse.URL) entries {
	sent := make([]*urlparse.URL, len(urls))
	for i, u := range urls {
		sent[i] = c.sent(u)
	}
	return c.entries(c.FullSource.StatAll(ctx, sent))
}
