// Package early tells what shows before a listing is whole: its entries, to those who can bear that it may fail later, and
// the login directory, from which its path leads.
package early

import (
	"bytes"
	"context"
	"iter"
	"net"
)

type key struct{}

// With returns a context for a listing. tell is called with each entry as it comes, in every try. With nil nobody is told.
func With[E any](ctx context.Context, tell func(E)) context.Context {
	return context.WithValue(ctx, key{}, tell)
}

type login struct{}

// WithLogin returns a context for listings. tell is called at the beginning of each with the directory after the login, as
// PWD names it; "" is one that the server does not tell. It is not called for a directory that is refused.
func WithLogin(ctx context.Context, tell func(dir string)) context.Context {
	return context.WithValue(ctx, login{}, tell)
}

// Login tells the login directory of a listing that begins.
func Login(ctx context.Context, dir string) {
	if tell, ok := ctx.Value(login{}).(func(string)); ok {
		tell(dir)
	}
}

// Watch returns a connection that tells the entries of the lines that are read from conn, if ctx is from With.
func Watch[E any](ctx context.Context, conn net.Conn, entries func(line string) iter.Seq2[E, error]) net.Conn {
	tell, ok := ctx.Value(key{}).(func(E))
	if !ok || tell == nil {
		return conn
	}
	return &watched{Conn: conn, line: func(line string) {
		for e, err := range entries(line) {
			if err == nil {
				tell(e)
			}
		}
	}}
}

type watched struct {
	net.Conn
	rest []byte // of a line
	line func(string)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.rest = append(w.rest, p[:n]...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return n, err
		}
		w.rest = rest
		w.line(string(bytes.TrimSuffix(line, []byte("\r"))))
	}
}
