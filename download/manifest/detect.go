package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/ftpfetch/download/digest"
)

// peekSize is how many bytes of a list decide its form.
const peekSize = 64 << 10

// detect skips a byte order mark and returns the form of the list: the wanted one,
// or else what the beginning looks like.
func detect(in *bufio.Reader, want Format) (Format, error) {
	start, err := in.Peek(peekSize) // what else is wrong with the reader shows later
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3)
		start = start[3:]
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return "", errors.New("the list is in UTF-16: save it as UTF-8")
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return "", errors.New("the list is compressed: decompress it with gunzip")
	}
	if len(start) == 0 && err == io.EOF {
		return "", errors.New("the list is empty")
	}
	if want != Auto && !slices.Contains(Formats(), want) {
		return "", fmt.Errorf("there is no form of list %q: write one of %q", string(want), Formats())
	}
	if want == Auto {
		want = guess(string(start))
	}
	return want, nil
}

// guess tells the form of a list from its beginning. What looks like nothing else
// is a table if it has a tab, or else a list of URLs, so that the error names the
// header or the URL.
func guess(start string) Format {
	first, format := "", Auto
	for line := range strings.Lines(start) {
		if format = guessHeader(line); format != Auto {
			return format
		}
		if first == "" && !comment(line) {
			first = strings.TrimSpace(line)
			break
		}
	}
	_, _, listed := digest.ParseLine(first)
	switch {
	case strings.HasPrefix(first, "{"):
		return NDJSON
	case strings.HasPrefix(first, "["):
		return JSON
	case hasScheme(first):
		return List
	case listed:
		return Sums
	case wrapped(start):
		return Text
	case strings.Contains(first, "\t") && !strings.Contains(first, "://"): // its error asks for the columns
		return TSV
	}
	return List
}

// guessHeader tells the form of a table from a line that may be its header.
func guessHeader(line string) Format {
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "#") && slices.Contains(header(line, "\t"), ftpPath):
		return NCBI
	case isHeader(header(line, "\t")):
		return TSV
	case isHeader(header(line, ",")):
		return CSV
	}
	return Auto
}

// hasScheme reports whether text begins like a URL.
func hasScheme(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"ftp://", "ftps://", "ftpes://", "url:"}, func(prefix string) bool {
		return strings.HasPrefix(text, prefix)
	})
}

// wrapped reports whether text has a URL in angle brackets.
func wrapped(text string) bool {
	for i := strings.IndexByte(text, '<'); i >= 0; {
		text = text[i+1:]
		if hasScheme(text[:min(len(text), len("ftpes://"))]) {
			return true
		}
		i = strings.IndexByte(text, '<')
	}
	return false
}
