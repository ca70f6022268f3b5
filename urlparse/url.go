// Package urlparse turns the text of an FTP URL into a value and back, as RFC 1738 defines it.
//
// Call [Parse] for one URL, and [Find] for URLs in free text. The grammar is that of RFC 1738 section 5:
//
//	ftpurl = "ftp://" login [ "/" fpath [ ";type=" ftptype ]]
//
// Parse splits the text first and decodes each part last, and once, so "%2F" is an octet of a name and never a separator.
// There is no query and no fragment: "?" is part of a name, and an unencoded "#" is refused. The error for a refused URL
// is an [*Error] with the column, the reason and, if there is one, the spelling that would work. No error shows a
// password.
//
// Extensions: the schemes ftps and ftpes, IPv6 literals in brackets, internationalized host names, underscores in host
// names, one trailing dot after a host name, and unencoded "~" and UTF-8 letters in a path.
//
// The package opens no connections and no files. Several goroutines may read a value at once.
package urlparse

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Typecode is the ftptype of a URL, RFC 1738 section 3.2.2.
type Typecode byte

// The typecodes.
const (
	TypeNone  Typecode = 0   // the URL has no ;type=
	TypeASCII Typecode = 'a' // TYPE A, then RETR
	TypeImage Typecode = 'i' // TYPE I, then RETR
	TypeDir   Typecode = 'd' // NLST: the names in a directory
)

// String returns the letter of the typecode in lower case, "" for TypeNone.
func (t Typecode) String() string {
	switch t {
	case TypeNone:
		return ""
	case TypeASCII, TypeImage, TypeDir:
		return string(rune(t))
	}
	return "Typecode(" + strconv.Itoa(int(t)) + ")"
}

// The schemes. RFC 1738 defines only ftp; the others are extensions.
const (
	FTP   = "ftp"   // default port 21
	FTPS  = "ftps"  // TLS from the first octet (implicit), default port 990
	FTPES = "ftpes" // TLS after AUTH TLS (explicit, RFC 4217), default port 21
)

func known(scheme string) bool { return scheme == FTP || scheme == FTPS || scheme == FTPES }

// URL is an FTP URL, split into its parts. The parts are decoded: they are the octets that FTP commands carry. [URL.Check]
// checks a value made by hand. Packages fmt, log/slog and encoding/json print a URL without its password. Two ways to
// print it remain: User by itself, and a verb such as %s for a struct with a URL, not a pointer to one, in an unexported
// field, whose methods fmt does not call.
type URL struct {
	Scheme string        // FTP, FTPS or FTPES
	User   *url.Userinfo // arguments of USER and PASS, which may be empty; nil: log in as anonymous
	Host   string        // lower-case A-label name (a trailing dot kept), dotted decimal, or IPv6 without brackets
	Port   int           // 0: the scheme's default
	Dirs   []string      // every segment before the last, one CWD each; "" is a CWD with a null argument
	Name   string        // the last segment; "" names no file
	Type   Typecode
}

// IsDir reports whether u names a directory: by ;type=d, or by an empty name without a typecode ("ftp://host/pub/").
func (u *URL) IsDir() bool {
	return u.Type == TypeDir || u.Type == TypeNone && u.Name == ""
}

// Address returns "host:port" for net.Dial, with an IPv6 host in brackets. The default port is 21 (RFC 1738 section 3.2),
// or 990 for ftps.
func (u *URL) Address() string {
	port := u.Port
	switch {
	case port != 0:
	case u.Scheme == FTPS:
		port = 990
	default:
		port = 21
	}
	return u.host() + ":" + strconv.Itoa(port)
}

// SameLogin reports whether one connection may serve u and v: scheme, address, user and password are the same.
func (u *URL) SameLogin(v *URL) bool {
	same := u.User == v.User || u.User != nil && v.User != nil && *u.User == *v.User
	return same && u.Scheme == v.Scheme && u.Address() == v.Address()
}

// Child returns the URL of the entry name in the directory that u names, with the login of u. The directory is u's Dirs,
// and u's Name if it has one: the children of "ftp://h/a/" and of "ftp://h/a;type=d" are the same.
//
// name is decoded octets and becomes one segment, whatever it holds: a "/" in it is printed as %2F and stays within one
// CWD or RETR argument, so split a server's "dir/file" first. If t is TypeDir the child is a directory, with a trailing
// "/" and no typecode; otherwise it is a file with the typecode t. If name is empty the child is the directory itself,
// with a trailing "/" (for TypeDir, below a null segment); with TypeASCII or TypeImage it is a URL that Check refuses.
// Child does not check name.
func (u *URL) Child(name string, t Typecode) *URL {
	v := *u
	v.Dirs = slices.Clone(u.Dirs)
	if u.Name != "" {
		v.Dirs = append(v.Dirs, u.Name)
	}
	v.Name, v.Type = name, t
	if t == TypeDir {
		v.Dirs, v.Name, v.Type = append(v.Dirs, name), "", TypeNone
	}
	return &v
}

// host returns the host as the parser would, and as it is if it is none, with brackets if need be.
func (u *URL) host() string {
	if h, f := host(part{s: bracket(u.Host)}); f == nil {
		return bracket(h)
	}
	return bracket(u.Host)
}

// bracket puts an IPv6 address in brackets; names stay as they are.
func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// textSuffixes are suffixes of files that are lines of text on every system.
const textSuffixes = " asc bat c cc cfg conf cpp css csv diff go h hpp htm html ini java js json log lst md patch pl py rst sh sql tex text tsv txt xml yaml yml "

// GuessType guesses the typecode of a file from the suffix of its name, as RFC 1738 section 3.2.3 allows if the URL has
// none: TypeASCII for text, TypeImage for everything else. name is decoded octets; the case of the suffix does not matter.
// A wrong TypeImage changes no octet, a wrong TypeASCII may.
func GuessType(name string) Typecode {
	dot := strings.LastIndexByte(name, '.')
	if dot > 0 && strings.Contains(textSuffixes, " "+strings.ToLower(name[dot+1:])+" ") {
		return TypeASCII
	}
	return TypeImage
}
