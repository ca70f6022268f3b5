package ftpexec

import (
	"net/http"
	"net/url"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// requested returns the URL of req, with the login of its Authorization. An http.Client that follows a redirect repeats
// the Authorization for the server that it came from, which was not meant for this one.
func requested(req *http.Request) (*urlparse.URL, error) {
	text, login := "", (*url.Userinfo)(nil)
	if req.URL != nil {
		text, login = textOf(req.URL), req.URL.User
	}
	u, err := urlparse.Parse(text)
	if err != nil {
		return nil, err
	}
	user, password, ok := req.BasicAuth()
	if ok && req.Response == nil && !derived(user, password, login) {
		u.User = url.UserPassword(user, password)
	}
	return u, u.Check()
}

// derived reports whether an http.Client would make an Authorization with user and password from login.
func derived(user, password string, login *url.Userinfo) bool {
	if login == nil {
		return false
	}
	given, _ := login.Password()
	return user == login.Username() && password == given
}

// textOf returns the text that package net/url has parsed into u, octet for octet except for the login, whose text it does
// not keep. urlparse refuses it if it needs Opaque, or if an "@" in it would make another host of it than other code sees
// in u: net/url takes a "?" in a login for the end of the host.
func textOf(u *url.URL) string {
	if u.Opaque != "" {
		return u.Scheme + ":" + strings.TrimLeft(u.Opaque, "/")
	}
	login, host, path, query := "", u.Host, pathOf(u), ""
	if u.User != nil {
		login = strings.ReplaceAll(u.User.String(), "~", "%7E") + "@"
	}
	if u.RawQuery != "" || u.ForceQuery {
		query = "?" + u.RawQuery
	}
	if path == "" {
		host, query = host+query, ""
	}
	text := u.Scheme + "://" + login + strings.ReplaceAll(host, "@", "%40") + path + query
	if u.Fragment != "" {
		text += "#" + u.EscapedFragment()
	}
	return text
}

// pathOf returns the text of u's path: RawPath if it belongs to Path, as url.URL.EscapedPath does, but even if RawPath has
// octets that net/url would escape and urlparse refuses.
func pathOf(u *url.URL) string {
	path := u.EscapedPath()
	if plain, err := url.PathUnescape(u.RawPath); err == nil && plain == u.Path && u.RawPath != "" {
		path = u.RawPath
	}
	if path != "" && path[0] != '/' {
		path = "/" + path
	}
	return path
}
