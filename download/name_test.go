package download

import (
	"errors"
	"strings"
	"testing"

	"example.com/ftpfetch/urlparse"
)

func TestLocalName(t *testing.T) {
	tests := []struct {
		name string
		unix bool
		win  bool
	}{
		{"motd", true, true},
		{"a.tar.gz", true, true},
		{"-rf", true, true},
		{"name with space", true, true},
		{"...", true, false},
		{"..x", true, true},
		{"caf\xe9", true, true},
		{"\x01\x1b[2J", true, false},
		{`a\b`, true, false},
		{"a:b", true, false},
		{"what?", true, false},
		{"x.", true, false},
		{"x ", true, false},
		{"CON", true, false},
		{"nul.txt", true, false},
		{"Com1", true, false},
		{"lpt9.log", true, false},
		{"com¹", true, false},
		{"aux .c", true, false},
		{"conin$", true, false},
		{"console", true, true},
		{"com10", true, true},
		{"", false, false},
		{".", false, false},
		{"..", false, false},
		{"/etc/passwd", false, false},
		{"a/b", false, false},
		{"../x", false, false},
		{"a\x00b", false, false},
	}
	for _, tt := range tests {
		for goos, want := range map[string]bool{"linux": tt.unix, "windows": tt.win} {
			got, err := localName(tt.name, goos)
			if (err == nil) != want {
				t.Errorf("localName(%q, %s) error %v, want usable %v", tt.name, goos, err, want)
			}
			if err == nil && got != tt.name {
				t.Errorf("localName(%q, %s) = %q", tt.name, goos, got)
			}
			if err != nil && (!errors.Is(err, ErrName) || !errors.Is(err, ErrLocal)) {
				t.Errorf("localName(%q, %s) error %v is not ErrName and ErrLocal", tt.name, goos, err)
			}
		}
	}
}

func TestLocalNameOfURL(t *testing.T) {
	got, err := LocalName(&urlparse.URL{Scheme: urlparse.FTP, Host: "h", Dirs: []string{"a"}, Name: "file"})
	if got != "file" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = LocalName(&urlparse.URL{Scheme: urlparse.FTP, Host: "h"})
	if err == nil || !strings.Contains(err.Error(), `names no file; write its name after the last "/"`) {
		t.Errorf("no name: got %v", err)
	}
}

func TestLocalPath(t *testing.T) {
	for _, tt := range []struct {
		components string
		unix, win  bool
	}{
		{"a", true, true},
		{"a b/c/d.tar.gz", true, true},
		{"a/con/b", true, false},
		{"a./b", true, false},
		{"c:/b", true, false},
		{`a\b/c`, true, false},
		{"a/..", false, false},
		{"./a", false, false},
		{"a//b", false, false},
		{"/a", false, false},
		{"a/x.part.json", false, false},
		{"x.PART.json/a", false, false},
		{"a\x00/b", false, false},
	} {
		for goos, want := range map[string]bool{"linux": tt.unix, "windows": tt.win} {
			got, err := localPath(strings.Split(tt.components, "/"), goos)
			if (err == nil) != want || err == nil && got != tt.components || err != nil && !errors.Is(err, ErrName) {
				t.Errorf("%q on %s: got %q, %v", tt.components, goos, got, err)
			}
		}
	}
	if _, err := LocalPath("a/b"); !errors.Is(err, ErrName) {
		t.Errorf("a component with a slash: %v", err)
	}
}

func TestPathKey(t *testing.T) {
	for goos, want := range map[string]bool{"linux": false, "windows": true, "darwin": true} {
		if got := pathKey("A/\u00c9.Gz", goos) == pathKey("a/\u00e9.gz", goos); got != want {
			t.Errorf("%s: the same file %v, want %v", goos, got, want)
		}
	}
	if PathKey("a") == PathKey("b") {
		t.Error("PathKey does not tell files apart")
	}
}
