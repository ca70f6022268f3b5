package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"example.com/ftpfetch/urlparse"
)

// Every error of the package has its statuses: without a reply, and with the replies 550, 530, 450 and 421.
func TestStatusOfEveryError(t *testing.T) {
	plain := [5]int{0, 502, 401, 503, 503}
	tests := map[string]struct {
		err  error
		want [5]int
	}{
		"ErrResolve":        {ErrResolve, plain},
		"ErrConnect":        {ErrConnect, plain}, // with a reply, a greeting that refuses service
		"ErrProtocol":       {ErrProtocol, [5]int{}},
		"ErrLost":           {ErrLost, plain},
		"ErrTimeout":        {ErrTimeout, plain},
		"ErrTruncated":      {ErrTruncated, [5]int{}},
		"ErrTLSHandshake":   {ErrTLSHandshake, plain},
		"ErrCertificate":    {ErrCertificate, plain},
		"ErrTLSUnavailable": {ErrTLSUnavailable, plain},
		"ErrLogin":          {ErrLogin, [5]int{0, 401, 401, 401, 503}},
		"ErrNoCredentials":  {ErrNoCredentials, [5]int{401, 401, 401, 401, 503}},
		"ErrDirectory":      {ErrDirectory, [5]int{0, 404, 401, 503, 503}},
		"ErrType":           {ErrType, plain},
		"ErrPassive":        {ErrPassive, plain},
		"ErrActive":         {ErrActive, plain},
		"ErrNoRestart":      {ErrNoRestart, plain},
		"ErrRefused":        {ErrRefused, [5]int{0, 403, 401, 503, 503}},
		"ErrNotFound":       {ErrNotFound, [5]int{0, 404, 404, 404, 503}},
		"ErrNoHash":         {ErrNoHash, plain},
		"ErrTooMany":        {and(ErrRefused, ErrTooMany), [5]int{0, 503, 503, 503, 503}},
		"ErrTLSRequired":    {and(ErrLogin, ErrTLSRequired), [5]int{0, 403, 403, 403, 403}},
		"ErrIsDirectory":    {ErrIsDirectory, plain},
		"ErrNotDirectory":   {ErrNotDirectory, plain},
		"ErrLine":           {ErrLine, plain},
		"ErrOtherServer":    {ErrOtherServer, plain},
		"ErrBusy":           {ErrBusy, plain},
		"ErrChanged":        {ErrChanged, plain},
	}
	for _, name := range sentinels(t) {
		tt, ok := tests[name]
		if !ok {
			t.Errorf("%s has no row", name)
		}
		delete(tests, name)
		for i, code := range []int{0, 550, 530, 450, 421} {
			e := &Error{Op: "RETR f", Err: tt.err}
			if code != 0 {
				e.Reply = &Reply{Code: code}
			}
			if got := statusOf(fmt.Errorf("wrapped: %w", e)); got != tt.want[i] {
				t.Errorf("%s with reply %d: got %d, want %d", name, code, got, tt.want[i])
			}
		}
	}
	for name := range tests {
		t.Errorf("%s is no error of the package", name)
	}
	for _, err := range []error{nil, errors.New("other"), &urlparse.Error{}, &Error{Err: context.Canceled}, &Error{Err: context.DeadlineExceeded}} {
		if got := statusOf(err); got != 0 {
			t.Errorf("%v: got %d, want 0", err, got)
		}
	}
}

// sentinels returns the names of the errors in errors.go.
func sentinels(t *testing.T) (names []string) {
	f, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, id := range spec.(*ast.ValueSpec).Names {
				if strings.HasPrefix(id.Name, "Err") {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}
