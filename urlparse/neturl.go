package urlparse

import (
	"net/url"
	"strings"
)

// FromURL returns the FTP URL that a URL of package net/url is. It reads the escaped path, which [url.URL.EscapedPath]
// returns, so that "%2F" stays an octet of a name, and a ";type=i" at its end is the typecode. FromURL takes what
// [url.Parse] makes of a text as [Parse] takes the text, with these differences:
//
//   - It refuses a query and a fragment, because an FTP URL has neither. For a name with a "?" or a "#" in it, write
//     %3F or %23. (Parse reads a "?" as part of the name.)
//   - It accepts in a path and a login all characters that net/url accepts, also those that RFC 1738 wants encoded.
//
// The error is an [*Error]. [URL.NetURL] is the way back.
func FromURL(u *url.URL) (*URL, error) {
	if u == nil {
		return nil, &Error{Hint: generalHint, reason: "there is no URL (nil)"}
	}
	v, f := fromURL(u)
	if f != nil {
		f.column = 0 // it would count in a part of the text
		return nil, f.of(u.String())
	}
	if err := v.Check(); err != nil {
		return nil, err
	}
	return v, nil
}

func fromURL(u *url.URL) (*URL, *Error) {
	name, _, f := scheme(part{s: u.String()})
	if f != nil {
		return nil, f
	}
	switch {
	case u.RawQuery != "" || u.ForceQuery:
		return nil, part{}.fault(0, "an FTP URL has no query", `write %3F for a "?" in a name`)
	case u.Fragment != "":
		return nil, part{}.fault(0, "an FTP URL has no fragment", `write %23 for a "#" in a name`)
	}
	v := &URL{Scheme: name, User: u.User}
	if f = hostport(v, part{s: u.Host}); f != nil {
		return nil, f
	}
	path := part{s: strings.TrimPrefix(u.EscapedPath(), "/")}
	segments, code, typed := splitType(path)
	for segment := range strings.SplitSeq(segments.s, "/") {
		octets, err := url.PathUnescape(segment)
		if err != nil { // EscapedPath returns only what can be decoded
			return nil, path.fault(0, `"%" is not followed by two hexadecimal digits`, "write %25")
		}
		v.Dirs = append(v.Dirs, octets)
	}
	last := len(v.Dirs) - 1
	v.Dirs, v.Name = v.Dirs[:last:last], v.Dirs[last]
	if last == 0 {
		v.Dirs = nil
	}
	if typed {
		v.Type, f = ftptype(code)
	}
	return v, f
}

// NetURL returns u, with its password, as a URL of package net/url. [FromURL] returns u again. The typecode is part of
// the path there. Its String is that of u, except that net/url leaves some characters of a login unencoded.
//
// Everything that an FTP URL says can be said there. But a change of the path may lose some of it: JoinPath and
// ResolveReference of [url.URL] resolve "." and "..", which an FTP URL sends to the server, and remove empty segments.
// [URL.Child] does not. The error is the one of [URL.Check].
func (u *URL) NetURL() (*url.URL, error) {
	if err := u.Check(); err != nil {
		return nil, err
	}
	host, escaped, _ := strings.Cut(u.fromHost(""), "/")
	path, err := url.PathUnescape("/" + escaped)
	if err != nil { // fromHost has encoded it
		return nil, err
	}
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: host, Path: path, RawPath: "/" + escaped}, nil
}
