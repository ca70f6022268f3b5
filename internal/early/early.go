// Package early tells of the entries of a listing before it is whole, to those who can bear that it may fail later.
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
