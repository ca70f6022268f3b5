package download

import (
	"errors"
	"strings"
	"testing"

	"example.com/ftpfetch/urlparse"
)

func TestLocalNameOfURL(t *testing.T) {
	got, err := LocalName(&urlparse.URL{Scheme: urlparse.FTP, Host: "h", Dirs: []string{"a"}, Name: "file"})
	if got != "file" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err = LocalName(&urlparse.URL{Scheme: urlparse.FTP, Host: "h"})
	if !errors.Is(err, ErrName) || !errors.Is(err, ErrLocal) || !strings.Contains(err.Error(), `names no file; write its name after the last "/"`) {
		t.Errorf("no name: got %v", err)
	}
}
