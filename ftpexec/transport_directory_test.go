package ftpexec_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestTransportDirectory(t *testing.T) {
	s := testserver.New(t, &testserver.Options{ModTime: stamp, Tree: map[string]string{"/d/a": "1", "/d/b&c": "22", "/d/sub/": "", "/empty/": ""},
		Users: map[string]string{"user": "hunter2"}})
	c := registered(t, &ftpexec.Transport{})
	kinds := []string{"Content-Type", "Vary"}
	for _, path := range []string{"/d/", "/d;type=d"} {
		text := request(t, c, "GET", s.URL(path))
		names := strings.Split(strings.TrimSuffix(text.contents, "\n"), "\n")
		slices.Sort(names)
		if got, want := strings.Join(names, ","), "a,b&c,sub"; got != want || text.Header.Get("Content-Type") != "text/plain; charset=utf-8" || text.ContentLength != int64(len(text.contents)) {
			t.Errorf("GET %s: got %q, %v", path, text.contents, text.Header)
		}
		if got := request(t, c, "HEAD", s.URL(path)); got.ContentLength != text.ContentLength || got.contents != "" || got.shown(kinds...) != text.shown(kinds...)[:len(got.shown(kinds...))] {
			t.Errorf("HEAD %s: got %q, %d bytes", path, got.shown(kinds...), got.ContentLength)
		}
		list := request(t, c, "GET", s.URLAs("user:hunter2", path), "Accept: application/json")
		var entries []struct {
			Name, URL, Type, Time string
			Size                  int64
		}
		if err := json.Unmarshal([]byte(list.contents), &entries); err != nil || len(entries) != 3 || strings.Contains(list.contents, "hunter2") {
			t.Fatalf("%s: got %q, %v", path, list.contents, err)
		}
		for _, e := range entries {
			if e.Name == "b&c" && (e.Size != 2 || e.Type != "file" || e.URL != s.URLAs("user", "/d/b%26c") || e.Time != "2026-01-02T03:04:05Z") {
				t.Errorf("got %+v", e)
			}
		}
	}
	for accept, want := range map[string]string{"*/*": "", "application/json": "[]\n"} {
		if got := request(t, c, "GET", s.URL("/empty/"), "Accept: "+accept); got.contents != want || got.err != nil || got.ContentLength != int64(len(want)) {
			t.Errorf("empty, %s: got %q, %v", accept, got.shown(), got.err)
		}
	}
	if got := request(t, c, "GET", s.URL("/d"), "Range: bytes=0-0"); got.StatusCode != 404 || !strings.Contains(got.contents, `end the URL in "/"`) {
		t.Errorf("a directory without the slash: got %q", got.shown())
	}
}

// RFC 9110 section 12.5.1; what Accept does not decide is text.
func TestTransportAccept(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("").With("MLSD", testserver.Transfer("type=file; a\r\n")...))
	c := registered(t, &ftpexec.Transport{})
	tests := map[string]bool{ // whether it is JSON
		"": false, "*/*": false, "text/plain": false, "application/json": true, "Application/JSON": true, "application/*": true, "text/*": false,
		"application/json, text/plain": false, "application/json, text/plain;q=0.9": true, "application/json;q=0.5, text/plain": false,
		"application/json, */*;q=0.1": true, "application/json;q=0.1, */*": false, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
		"application/json;q=0, */*": false, "text/plain;q=0, */*": true, "*/*;q=0.5, text/*;q=0.2": true, "application/json;q=x": true,
		"application/json;charset=utf-8": true, ";;, application/json": true, "image/png": false, "application/*;q=0.3, application/json;q=0.1, text/plain;q=0.2": false,
	}
	for accept, want := range tests {
		got := request(t, c, "GET", s.URL("/d/"), "Accept: "+accept)
		if kind := got.Header.Get("Content-Type"); (kind == "application/json") != want || got.Header.Get("Vary") != "Accept" || got.err != nil {
			t.Errorf("%q: got %s, %v, want JSON: %t", accept, kind, got.err, want)
		}
	}
	if got := request(t, c, "GET", s.URL("/d/"), "Accept: application/json;q=0.5", "Accept: text/plain;q=0.4"); got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("two fields: got %v", got.Header)
	}
}

// An entry that is not understood must not be missing without a word.
func TestTransportOddEntry(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("").With("MLSD", testserver.Transfer("type=file; a\r\nhello\r\ntype=file; b\r\n")...))
	got := request(t, registered(t, &ftpexec.Transport{}), "GET", s.URL("/d/"), "Accept: application/json")
	if !errors.Is(got.err, ftpexec.ErrLine) || strings.Count(got.contents, `"name"`) != 2 || got.ContentLength != -1 || got.Header.Get("Content-Length") != "" {
		t.Errorf("got %q, %v, %d bytes", got.contents, got.err, got.ContentLength)
	}
}
