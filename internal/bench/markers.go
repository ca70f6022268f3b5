//go:build linux

package main

import (
	"bytes"
	"fmt"
)

// markers returns the lines around a table in a document.
func markers(key string) (begin, end string) {
	return fmt.Sprintf("<!-- made by: go run ./internal/bench -only %s -->\n", key), fmt.Sprintf("<!-- end of %s -->\n", key)
}

// insert replaces what is between the markers of key.
func insert(text []byte, key, report string) ([]byte, error) {
	begin, end := markers(key)
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return nil, fmt.Errorf("no lines %q and %q", begin, end)
	}
	return []byte(string(before) + begin + "\n" + report + "\n\n" + end + string(after)), nil
}
