package manifest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/urlparse"
)

// heads returns beginnings of lists that show their form, by the form and by what is special about them.
func heads(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, l := range lists(t, "beginnings") {
		all[l.text[0]] = l.text[1]
	}
	return all
}

const secretly = "ftp://me:hunter2@h/"

// kinds has the text that each kind of hostile list repeats.
var kinds = map[string]string{
	"nested arrays": "[", "nested objects": `{"a":`, "nested elements": "<a>", "nested files": "<file>", "nested groups": "({", "nested comments": "<!--<![CDATA[",
	"one line": "a", "one line of digits": "1", "one line of blanks": " ", "one line of tabs": "\t", "one line of commas": ",", "one line of semicolons": ";", "one line of URLs": "ftp://h/a\t",
	"one line of quotes": `"`, "one line of backslashes": `\`, "one line of slashes": "/", "one line of colons": "x:", "one string": "aaaaaaaaaaaaaaa ",
	"large fields": "\t" + strings.Repeat("b", 900<<10) + "\n", "large cells": "ftp://h/" + strings.Repeat("c", 500<<10) + "," + strings.Repeat("d", 500<<10) + ",\n",
	"many cells": strings.Repeat("ftp://h/a,", 50_000) + "\n", "many columns": strings.Repeat("url\t", 200_000) + "\n", "columns of an archive": strings.Repeat("a_ftp,", 100_000) + "\n",
	"large objects": `{"url":"ftp://h/` + strings.Repeat("e", 900<<10) + `"},` + "\n", "large arrays": `{"url":[` + strings.Repeat(`"",`, 200_000) + `""]},` + "\n",
	"arrays of objects": `{"url":"ftp://h/a","b":[` + strings.Repeat(`{},`, 200_000) + `{}]},` + "\n", "many members": `{"url":"ftp://h/a"` + strings.Repeat(`,"url":""`, 100_000) + `},` + "\n",
	"an unclosed quote": `"ftp://h/a` + "\n", "a quote within": `ftp://h/a,b"c` + "\n", "quotes that span lines": "\"\n,\n,\n\"\n", "an escape": `\u`, "bad escapes": `"\x",`,
	"bad lines": "x y\n", "bad URLs": secretly + "#\n", "no URLs": "\t\t\t\n", "other schemes": "http://h/a\n", "bad sizes": "ftp://h/a\ta\t-1\t\n", "bad objects": "{\n", "empty objects": "{},\n", "numbers": "1,\n", "nulls": "null,\n",
	"empty lines": "\n", "blank lines": " \n", "lines that end in CR": "a\r", "comments": "#\n", "comments with cells": "#,,\t,\n", "roots of Argo": "# FTP root number 1 : ftp://h/a\n", "options": "  out=aaaaaaaa\n", "directories": "  dir=b\n", "digests as options": "  checksum=md5:00\n",
	"empty elements": "<a/>", "empty files": "<file/>", "empty digests": "<hash type='md5'/>", "empty places": "<url/>", "attributes": "<a b='' c='' d=''/>", "text in elements": "<a>bb</a>\n", "entities": "&amp;", "a document type": "<!DOCTYPE a [", "pages": "<html><p>a</p>\n</html>\n",
	"digests": "d41d8cd98f00b204e9800998ecf8427e\n", "digests of a large name": "d41d8cd98f00b204e9800998ecf8427e  " + strings.Repeat("f/", 400<<10) + "\n", "tags": "MD5 (a) = \n", "sums of BSD": "12345 6 a b\n", "parentheses": "((((((((((((((((\n",
	"NUL": "\x00", "bytes": "\xff\xfe\x01\x02\n", "scripts": "curl 'a b\n", "commands": "curl -L ftp://h/a -o " + strings.Repeat("g", 100) + " $x\n",
	"members": `"a":1,` + "\n", "members that are arrays": `"a":[1,2,{}],` + "\n",
}

// endless is a list that has a head and then repeats a piece up to a size.
type endless struct {
	left  string
	piece string
	size  int64 // bytes left to read
	gave  int64 // bytes read
}

func newEndless(head, piece string, size int64) *endless {
	return &endless{left: head, piece: strings.Repeat(piece, 1+(64<<10)/len(piece)), size: size}
}

func (e *endless) Read(b []byte) (n int, err error) {
	if e.left == "" {
		e.left = e.piece
	}
	n = copy(b[:min(int64(len(b)), e.size)], e.left)
	if e.left = e.left[n:]; n == 0 {
		return 0, io.EOF
	}
	e.size -= int64(n)
	e.gave += int64(n)
	return n, nil
}

// ways are the two ways to read a list. Each returns the number of items and the errors.
var ways = map[string]func(r io.Reader, o Options) (items int, errs []error){
	"Check": func(r io.Reader, o Options) (int, []error) {
		files, _, errs := Check(r, &o)
		return files, errs
	},
	"Read": func(r io.Reader, o Options) (items int, errs []error) {
		for _, err := range Read(r, &o) {
			if err == nil {
				items++
			} else {
				errs = append(errs, err)
			}
		}
		return items, errs
	},
}

// TestHostileLists reads hostile lists of every form. It bounds the memory allocated for each byte and the number of
// errors, and checks that no message is long or shows a password.
func TestHostileLists(t *testing.T) {
	const size = 2 << 20
	nth := 0
	heads := heads(t)
	for head := range heads {
		for kind, piece := range kinds {
			for way, read := range ways {
				if nth++; nth%night.Or(83, 1) != 0 {
					continue
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				in := newEndless(heads[head], piece, size)
				_, errs := read(in, Options{})
				runtime.ReadMemStats(&after)
				if each := float64(after.TotalAlloc-before.TotalAlloc) / size; len(errs) > mostFaults+1 || each > 150 {
					t.Errorf("%s of %s, %s: %d errors, %.0f bytes for each of %d", way, head, kind, len(errs), each, in.gave)
				}
				for _, err := range errs {
					if text := err.Error(); strings.Contains(text, "hunter2") || len(text) > 8*maxField || strings.ContainsAny(text, "\n\x00") {
						t.Errorf("%s of %s, %s: %.200s", way, head, kind, text)
						break
					}
				}
			}
		}
	}
}

// TestHostileListsEnd checks that Read soon stops if a list has no known form, if nothing in it can be parsed, or after
// a hundred bad lines.
func TestHostileListsEnd(t *testing.T) {
	const size = 64 << 20
	nth := 0
	heads := heads(t)
	for head, each := range map[string][]string{
		"tsv":             {"bad lines", "bad URLs", "bad objects", "bad sizes", "scripts", "pages", "numbers", "digests", "NUL", "quotes that span lines"},
		"csv":             {"bad lines", "bad URLs", "an unclosed quote", "a quote within", "quotes that span lines", "other schemes", "bytes", "pages"},
		"json":            {"nested arrays", "nested objects", "bad lines", "bad escapes", "an escape", "one string", "empty objects", "numbers", "nulls", "pages", "bytes", "one line of digits", "one line of blanks", "empty lines", "blank lines", "one line of quotes"},
		"ndjson":          {"bad lines", "bad objects", "bad URLs", "numbers", "nulls", "pages"},
		"metalink":        {"nested elements", "nested files", "nested comments", "empty files", "empty elements", "empty places", "attributes", "text in elements", "a document type", "pages", "bytes", "one string", "empty lines", "entities"},
		"metalink file":   {"nested elements", "nested files", "empty digests", "empty places", "one line", "text in elements"},
		"curl":            {"bad lines", "scripts", "commands", "pages"},
		"list":            {"bad lines", "bad URLs", "other schemes", "pages", "bytes"},
		"sums":            {"bad lines", "bad URLs", "pages", "numbers", "tags", "parentheses"},
		"json of digests": {"nested objects", "nested arrays", "members", "members that are arrays", "one string", "empty lines"},
	} {
		for _, kind := range each {
			for way, read := range ways {
				if nth++; nth%night.Or(7, 1) != 0 {
					continue
				}
				in := newEndless(heads[head], kinds[kind], size)
				o := Options{}
				if head == "sums" || head == "json of digests" {
					o.Base = must.Get(urlparse.Parse("ftp://h/"))(t)
				}
				if _, errs := read(in, o); len(errs) == 0 || in.gave > 3<<20 {
					t.Errorf("%s of %s, %s: %d bytes are read, %d errors", way, head, kind, in.gave, len(errs))
				}
			}
		}
	}
}

// TestIdleLists checks that Read does not read a compressed list for ever if it goes on without naming a file.
func TestIdleLists(t *testing.T) {
	nth := 0
	heads := heads(t)
	for head, pieces := range map[string][]string{"list": {"\n", "#\n", " \n"}, "tsv": {"\n", "#\n"}, "ndjson": {"\n"}, "curl": {"# a\n"}, "sums": {"\n"}} {
		for _, piece := range pieces {
			if nth++; nth%night.Or(5, 1) != 0 {
				continue
			}
			var small bytes.Buffer
			w := gzip.NewWriter(&small)
			_, err := io.Copy(w, newEndless(heads[head], piece, mostIdle+maxLine))
			must.Do(t, errors.Join(err, w.Close()))
			for way, read := range ways {
				_, errs := read(bytes.NewReader(small.Bytes()), Options{Base: must.Get(urlparse.Parse("ftp://h/"))(t)})
				if len(errs) != 1 || !strings.Contains(errs[0].Error(), errIdle.Error()) {
					t.Errorf("%s of %s, %q: %v", way, head, piece, errs)
				}
			}
		}
	}
}
