package main

import (
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestSmallFiles retrieves the small files with each package.
func TestSmallFiles(t *testing.T) {
	tree := map[string]string{}
	for i := range smallFiles {
		tree[smallFile(i)] = strings.Repeat("x", small)
	}
	s := testserver.New(t, &testserver.Options{Tree: tree})
	for name, with := range map[string]func() (func() error, error){
		"ftpexec":  func() (func() error, error) { return ourSmall(t.Context(), s.Addr()) },
		"jlaffaye": func() (func() error, error) { return theirSmall(t.Context(), s.Addr()) },
	} {
		once, err := with()
		if err == nil {
			err = once()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
