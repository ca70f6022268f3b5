// Package urlparse turns the text of an FTP URL into a value and back, as RFC 1738 defines it.
//
// [Parse] follows the grammar of RFC 1738 section 5:
//
//	ftpurl = "ftp://" login [ "/" fpath [ ";type=" ftptype ]]
//
// Parse splits the text before it decodes the parts, each of them once, so "%2F" is an octet of a name, never a
// separator. There is no query and no fragment: "?" is part of a name, and an unencoded "#" is refused. The error for a
// refused URL is an [*Error] with the column, the reason and, if there is one, the spelling that would work. No error
// shows a password.
//
// Extensions: the schemes ftps and ftpes, IPv6 literals in brackets, internationalized host names, underscores in host
// names, one trailing dot after a host name, and unencoded "~" and UTF-8 letters in a path.
//
// The package opens no connections and no files. Several goroutines may read a value at once.
package urlparse

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/printable"
)

// Typecode is what ";type=" at the end of a URL says: how to transfer what the URL names (RFC 1738 section 3.2.2).
type Typecode string

// The typecodes. "" means that the URL has no ;type=.
const (
	TypeASCII Typecode = "a" // a text, whose line ends are converted (TYPE A, then RETR)
	TypeImage Typecode = "i" // a file, byte for byte (TYPE I, then RETR)
	TypeDir   Typecode = "d" // the names in a directory (NLST)
)

// schemes are the supported schemes. RFC 1738 defines only ftp; the others are extensions.
var schemes = []string{"ftpes", "ftps", "ftp"}

// URL is an FTP URL, split into its parts. The parts are decoded: they are the octets that FTP commands carry.
// [URL.Check] checks a value made by hand.
//
// Packages fmt, log/slog and encoding/json write a URL without its password; only [URL.String] and [URL.NetURL] return
// it whole. Two more ways show the password: printing User alone, and printing a struct with a verb such as %s if an
// unexported field of it is a URL (not a *URL), because fmt calls no methods of unexported fields.
type URL struct {
	// "ftp"; "ftps": TLS from the first octet (implicit); or "ftpes": TLS after AUTH TLS (explicit, RFC 4217)
	Scheme string
	User   *url.Userinfo // arguments of USER and PASS, which may be empty; nil: log in as anonymous
	// a name in lower case (an international one in its xn-- form; a dot at the end stays), an IPv4 address, or an IPv6
	// address without brackets
	Host string
	Port int // 0: the scheme's default
	// the directories to enter, one after the other, each with a CWD of its own; "" is a CWD with an empty argument
	Dirs []string
	Name string // the last segment; "" names no file
	Type Typecode
}

// IsDir reports whether u names a directory: by ;type=d, or by an empty name without a typecode ("ftp://host/pub/").
func (u *URL) IsDir() bool {
	return u.Type == TypeDir || u.Type == "" && u.Name == ""
}

// Address returns "host:port" for net.Dial, with an IPv6 host in brackets. The default port is 21 (RFC 1738 section
// 3.2), or 990 for ftps.
func (u *URL) Address() string {
	return u.host() + ":" + strconv.Itoa(u.port())
}

func (u *URL) port() int { return cmp.Or(u.Port, defaultPort(u.Scheme)) }

func defaultPort(scheme string) int {
	if scheme == "ftps" {
		return 990
	}
	return 21
}

// Child returns the URL of the entry name in the directory that u names, with the login of u. The directory is u's
// Dirs, and u's Name if it has one: the children of "ftp://h/a/" and of "ftp://h/a;type=d" are the same.
//
// name is decoded octets and becomes one segment, whatever it holds: a "/" in it is printed as %2F and stays within one
// CWD or RETR argument, so split a server's "dir/file" first. If t is TypeDir the child is a directory, with a trailing
// "/" and no typecode; otherwise it is a file with the typecode t. If name and t are empty the child is the directory
// itself, with a trailing "/". Child does not check name, and with an empty name no other t makes sense.
func (u *URL) Child(name string, t Typecode) *URL {
	v := *u
	v.Dirs = slices.Clone(u.Dirs)
	if u.Name != "" {
		v.Dirs = append(v.Dirs, u.Name)
	}
	v.Name = name
	v.Type = t
	if t == TypeDir {
		v.Dirs = append(v.Dirs, name)
		v.Name = ""
		v.Type = ""
	}
	return &v
}

// host returns the host as [Parse] would spell it, and an invalid host unchanged. An IPv6 address gets brackets.
func (u *URL) host() string {
	if isNormal(u.Host) {
		return u.Host
	}
	if h, f := host(part{s: bracket(u.Host)}); f == nil {
		return bracket(h)
	}
	return bracket(u.Host)
}

// isNormal reports whether a host is a name, and in lower case, so that nothing is to be changed.
func isNormal(host string) bool {
	if host == "" || digit(host[topStart(host)]) {
		return false
	}
	for i := range len(host) {
		if c := host[i]; c != '.' && (!labelOctet(c) || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

// bracket puts an IPv6 address in brackets; names stay as they are.
func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// Check returns the error that [Parse] would return for a value made by hand: a CR, LF or NUL in a part, the typecode of
// a file without a name, an invalid host, and so on. Parse reads the String of a URL that passes, and returns the same
// URL. The error is an [*Error] whose Input is u.Redacted() and whose column counts in u.String().
func (u *URL) Check() error {
	if u.isOrdinary() {
		return nil
	}
	// A delimiter in the host would make it another URL.
	_, f := host(part{bracket(u.Host), len(u.beforeHost())})
	switch text := (part{s: u.String()}); {
	case !slices.Contains(schemes, u.Scheme):
		f = text.fault(0, "the scheme is none of ftp, ftps and ftpes", `write "ftp"`)
		f.kind = ErrScheme
	case f == nil:
		_, f = ftpurl(text)
	}
	if f == nil {
		return nil
	}
	f.Input = u.Redacted()
	return f
}

// isOrdinary reports whether u passes Check at first sight: most URLs do, and it costs much less than to print u and to
// parse that. They have no login, and printable ASCII in the path.
func (u *URL) isOrdinary() bool {
	if _, f := host(part{s: u.Host}); f != nil || u.User != nil || u.Port < 0 || u.Port > math.MaxUint16 {
		return false
	}
	strange := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	}
	file := u.Name != "" && (u.Type == TypeASCII || u.Type == TypeImage)
	return slices.Contains(schemes, u.Scheme) && (file || u.Type == "" || u.Type == TypeDir) &&
		!strange(u.Name) && !slices.ContainsFunc(u.Dirs, strange)
}

// BadPort returns an [*Error] if u's port belongs to another well-known protocol (25, 6667, ...), and nil otherwise. A
// URL could make an FTP client talk to a server of that protocol (RFC 1738 section 6). The error matches [ErrPort]; its
// Input and column are as in the error of [URL.Check]. A program that knows that the server there speaks FTP sets
// AllowPort of ftpexec.Client.
func (u *URL) BadPort() error {
	name := protocolOf(u.Port)
	if name == "" {
		return nil
	}
	return &Error{
		Input:  u.Redacted(),
		column: len(u.beforeHost()+u.host()+":") + 1,
		reason: fmt.Sprintf("port %d belongs to another protocol (%s)", u.Port, name),
		kind:   ErrPort,
	}
}

// otherPorts has a line for each port of another protocol: its number and the protocol's name.
//
//go:embed ports.txt
var otherPorts string

// protocolOf returns the name of the other protocol that has a port, or "".
func protocolOf(port int) string {
	_, name, _ := strings.Cut(otherPorts, "\n"+strconv.Itoa(port)+" ")
	return upTo(name, "\n")
}

// What errors.Is finds in an [Error].
var (
	// ErrScheme means that the scheme is none of ftp, ftps and ftpes.
	ErrScheme = errors.New("unsupported scheme")
	// ErrPort means that the port belongs to another protocol; see [URL.BadPort].
	ErrPort = errors.New("port of another protocol")
)

// Error says why a URL was refused. It holds no password.
type Error struct {
	Input  string // the text as given, with "***" for all that may be a password
	Hint   string // what to write instead, "write ..."; "" if no spelling would work
	column int    // where the fault is: 1-based byte in the text as given, before masking
	reason string
	kind   error // ErrScheme, ErrPort or nil
}

func (e *Error) of(text string) *Error {
	e.Input = redact(text)
	return e
}

// Error returns one line with the text, the column if it is not the first, the reason and the hint, safe for a
// terminal.
func (e *Error) Error() string {
	s := shown(e.Input) + ": "
	if e.column > 1 {
		s += fmt.Sprintf("column %d: ", e.column)
	}
	s += printable.Line(e.reason)
	if e.Hint != "" {
		s += "; " + shown(e.Hint)
	}
	return s
}

// Unwrap returns ErrScheme or ErrPort if that is the fault.
func (e *Error) Unwrap() error { return e.kind }

// shown returns s as one printable line of bounded length.
func shown(s string) string {
	const most = 200
	switch {
	case s == "":
		return `""`
	case len(s) <= most:
		return printable.Line(s)
	}
	return printable.Line(s[:most]) + "..."
}
