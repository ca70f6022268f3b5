package ftpexec_test

import (
	"context"
	"crypto/tls"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// functions has the functions and methods that ftpexec and urlparse export.
var functions = map[string]any{
	"ftpexec.Plan":       ftpexec.Plan,
	"ftpexec.Retryable":  ftpexec.Retryable,
	"ftpexec.WithTrace":  ftpexec.WithTrace,
	"urlparse.FromURL":   urlparse.FromURL,
	"urlparse.GuessType": urlparse.GuessType,
	"urlparse.KeyOf":     urlparse.KeyOf,
	"urlparse.Parse":     urlparse.Parse,
}

// TestSweep calls every exported function and method of ftpexec and urlparse with nil, empty and contradictory values.
// None panics, and no method of a Client that can fail succeeds.
func TestSweep(t *testing.T) {
	receivers := map[string][]any{
		"ftpexec.(*Error)":  {new(ftpexec.Error)},
		"ftpexec.Command":   {ftpexec.Command{}},
		"urlparse.(*Error)": {new(urlparse.Error)},
	}
	for _, c := range clients() {
		t.Cleanup(c.CloseIdleConnections)
		receivers["ftpexec.(*Client)"] = append(receivers["ftpexec.(*Client)"], c)
	}
	for _, u := range urls()[1:] {
		receivers["urlparse.(*URL)"] = append(receivers["urlparse.(*URL)"], u)
		receivers["urlparse.URL"] = append(receivers["urlparse.URL"], *u)
	}
	for line := range strings.Lines(string(must.Get(os.ReadFile("../docs/api.txt"))(t))) {
		name, kind, _ := strings.Cut(line, ": ")
		ours := strings.HasPrefix(name, "ftpexec.") || strings.HasPrefix(name, "urlparse.")
		if !ours || !strings.HasPrefix(kind, "func(") || name == "urlparse.URL.Format" { // for package fmt, which has a State for it
			continue
		}
		if f := functions[name]; f != nil {
			sweep(t, name, reflect.ValueOf(f))
			continue
		}
		dot := strings.LastIndexByte(name, '.')
		if receivers[name[:dot]] == nil {
			t.Errorf("nothing calls %s", name)
		}
		for _, r := range receivers[name[:dot]] {
			sweep(t, name, reflect.ValueOf(r).MethodByName(name[dot+1:]))
		}
	}
}

// sweep calls f with every combination of the values of its parameters.
func sweep(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	calls := [][]reflect.Value{nil}
	for i := range f.Type().NumIn() {
		var longer [][]reflect.Value
		for _, v := range values(t, name, f.Type().In(i)) {
			for _, args := range calls {
				longer = append(longer, append(args[:len(args):len(args)], v))
			}
		}
		calls = longer
	}
	for _, args := range calls {
		sweepOne(t, name, f, args)
	}
}

func sweepOne(t *testing.T, name string, f reflect.Value, args []reflect.Value) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s%v panics: %v", name, args, p)
		}
	}()
	results := f.Call(args)
	for _, r := range results {
		switch r := r.Interface().(type) {
		case iter.Seq2[ftpexec.Entry, error]:
			for e, err := range r {
				if err == nil {
					t.Errorf("%s%v yields %v", name, args, e)
				}
			}
		case error:
			_ = r.Error()
		}
	}
	fails := len(results) == 2 && strings.HasPrefix(name, "ftpexec.(*Client).")
	if fails && results[1].IsNil() {
		t.Errorf("%s%v succeeds", name, args)
	}
}

// values returns nil, empty and contradictory values of a type.
func values(t *testing.T, name string, kind reflect.Type) []reflect.Value {
	t.Helper()
	all := []reflect.Value{reflect.Zero(kind)}
	add := func(v any) { all = append(all, reflect.ValueOf(v)) }
	switch reflect.Zero(kind).Interface().(type) {
	case *urlparse.URL:
		for _, u := range urls()[1:] {
			add(u)
		}
	case []*urlparse.URL:
		add([]*urlparse.URL{nil})
		add(append(urls(), nil, urls()[1]))
		add(append(urls()[1:], nil))
	case *ftpexec.Request:
		for _, u := range urls() {
			add(&ftpexec.Request{URL: u})
			add(&ftpexec.Request{URL: u, Offset: -1})
			add(&ftpexec.Request{URL: u, Offset: 1})
		}
	case *url.URL:
		add(new(url.URL))
		add(&url.URL{Scheme: "ftp", Opaque: "x"})
		add(&url.URL{Scheme: "ftp", Host: ":", Path: "\x00"})
	case string:
		add("\x00")
		add("ftp://127.0.0.1:4/f")
	case *ftpexec.Trace:
		add(new(ftpexec.Trace))
	case []byte: // texts that are not URLs, which leave the receiver unchanged
		add([]byte{})
		add([]byte("\x00"))
	case urlparse.Typecode:
		add(urlparse.Typecode("?"))
		add(urlparse.TypeDir)
	case func(ftpexec.Entry):
		add(func(ftpexec.Entry) {})
	case func(string):
		add(func(string) {})
	case nil: // a nil interface: a context, or an error
	default:
		t.Fatalf("%s: no values for %s", name, kind)
	}
	if kind == reflect.TypeFor[context.Context]() {
		add(t.Context())
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		add(ended)
	}
	return all
}

// urls begins with nil and the zero URL.
func urls() []*urlparse.URL {
	valid := urlparse.URL{Scheme: "ftp", Host: "127.0.0.1", Port: 4, Name: "f"}
	dir, text, ftps, odd := valid, valid, valid, valid
	dir.Name = ""
	text.Type = urlparse.TypeASCII
	ftps.Scheme = "ftps"
	odd.Type = "?"
	odd.Port = -1
	odd.Dirs = []string{"\x00", ""}
	return []*urlparse.URL{nil, {}, &valid, &dir, &text, &ftps, &odd}
}

// clients has the zero Client, for which nothing listens on port 4, and Clients with contradictory fields.
func clients() []*ftpexec.Client {
	nothing := func(context.Context, string, string) (net.Conn, error) { return nil, nil }
	return []*ftpexec.Client{
		{},
		{Dial: nothing, Trace: new(ftpexec.Trace)},
		{Proxy: func(string) func(context.Context, string, string) (net.Conn, error) { return nothing }},
		{MaxConns: -1, MaxIdle: -1},
		{MaxConns: 1, MaxIdle: 5, Active: true, Dial: nothing, TryTLS: true, TLSConfig: new(tls.Config)},
		{Admit: func(context.Context, string) (func(), error) { return nil, nil }},
		{ConnectTimeout: -1, Timeout: -1, MinRate: 1, MinRateTime: -time.Second},
	}
}

// A data connection that a Dial function does not open is an error too.
func TestDialOpensNothing(t *testing.T) {
	t.Parallel()
	s := testserver.New(t, &testserver.Options{Tree: tree})
	c := closing(t, &ftpexec.Client{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != s.Addr() {
			return nil, nil
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}})
	if _, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); !errors.Is(err, ftpexec.ErrConnect) {
		t.Errorf("got %v, want ErrConnect", err)
	}
}

// commands are what a text of the library must not name: the flags and variables of the command, and other programs.
var commands = regexp.MustCompile(`\bFTPFETCH_|--[a-zA-Z]|\bcurl\b|netrc`)

// TestErrorsSpeakOfTheLibrary looks for flags and the like in the texts of ftpexec and urlparse. The command adds
// those.
func TestErrorsSpeakOfTheLibrary(t *testing.T) {
	for _, pattern := range []string{"*.go", "internal/*/*.go", "../urlparse/*.go"} {
		for _, name := range must.Get(filepath.Glob(pattern))(t) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file := must.Get(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
			ast.Inspect(file, func(n ast.Node) bool {
				text, ok := n.(*ast.BasicLit)
				if ok && text.Kind == token.STRING && commands.MatchString(text.Value[1:len(text.Value)-1]) {
					t.Errorf("%s: %s", name, text.Value)
				}
				return true
			})
		}
	}
}
