package glob

import (
	"fmt"
	"strings"
	"testing"
)

// TestAdvice checks the advice for patterns of other programs, and that the advised pattern matches.
func TestAdvice(t *testing.T) {
	names := strings.Fields("a.txt b.TXT sub/c.gz sub/d.gz fastq/SRR1_1.fastq.gz README")
	for pattern, want := range map[string]string{
		"txt": "'*.txt', which matches 1", ".txt": "'*.txt', which matches 1", "*.GZ": "'*.gz', which matches 3", "TXT": "'*.TXT', which matches 1",
		"readme": "'README', which matches 1", `.*\.gz$`: "'*.gz', which matches 3", `\.gz$`: "'*.gz', which matches 3", "pub/sub/*.gz": "'sub/*.gz', which matches 2", "/pub/sub/*.gz": "'/sub/*.gz', which matches 2", "SRR": "'*SRR*', which matches 1",
		"gz": "'*.gz', which matches 3", "*.zip": "", "[": "", "o'k": "",
	} {
		g := Guess(pattern)
		for _, name := range names {
			g.Add(name, false)
		}
		if want != "" {
			want = " (write " + want + ")"
		}
		if got := g.Advice(); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

// TestFrom checks that From returns a note only for a pattern with a path.
func TestFrom(t *testing.T) {
	for pattern, path := range map[string]bool{"*.gz": false, "sub/": false, "/sub": true, "/sub/": true, "a/b": true, "**/b": true, "": false} {
		if got := From(pattern); (got != "") != path {
			t.Errorf("%q: %q", pattern, got)
		}
	}
}

// TestChoices checks the expansion of URLs. Each choice is written "URL pattern dirs".
func TestChoices(t *testing.T) {
	for text, want := range map[string]string{
		"a.gz": "a.gz 0", "d/a{b,c}.gz": "d/ab.gz 0|d/ac.gz 0", "{b,c}": "b 0|c 0", "x[8-10]": "x8 0|x9 0|x10 0", "x[08-10:2]y": "x08y 0|x10y 0", "x[7-8]{a,b}": "x7a 0|x7b 0|x8a 0|x8b 0",
		"{a,b}/f": "a/f 1|b/f 1", "{a,b}/": "a/ 0|b/ 0", "p/{a,b}/{c,d}/f": "p/a/c/f 2|p/a/d/f 2|p/b/c/f 2|p/b/d/f 2", "{a}/f": "a/f 1", "a{,.gz}": "a 0|a.gz 0",
		"*": " * 0", "d/*.gz": "d/ *.gz 0", "p/*/README": "p/ */README 0", "p/*/": "p/ * 0", "{a,b}/*.gz": "a/ *.gz 1|b/ *.gz 1", "*/{a,b}[01-02]": " */{a,b}{01,02} 0",
		"*_[1-5].gz": " *_[1-5].gz 0", "x[a-c]": " x[a-c] 0", "x[!a]{b,c}": " x[!a]{b,c} 0", "{a,{b,c}}": " {a,{b,c}} 0", "%2A%5B*%20": ` \*\[*  0`, "%7Ba,b%7D": "%7Ba,b%7D 0", "*/%2e": " */. 0",
		"[5-1]": "!the range [5-1] is none: write [1-20]", "[1-5:0]": "!is none", "[1-99999999999999999999]": "!is none", "[1-1000000]": "!stands for more than 100000 names: write -i with a list of URLs", "[1-999][1-999]": "!stands for more",
		"[1-999]/[1-999]": "!stands for more", "[a": "!the pattern [a is malformed: close the bracket", "*%2": "!write %25", "*%zz": "!write %25", "*;type=i": "!write --type", "*%2Fa": "!write it as a segment", "*[5-1]": "!is none", "{1..3}": "!is no range of days: write [1-3]", "**/f": "!** means nothing in a URL: write its directory alone, with -r and --accept in place of --glob",
	} {
		choices, err := Choices("ftp://h/" + text)
		var all []string
		for _, c := range choices {
			if c.Pattern != "" {
				c.Pattern = " " + c.Pattern
			}
			all = append(all, fmt.Sprintf("%s%s %d", strings.TrimPrefix(c.URL, "ftp://h/"), c.Pattern, c.Dirs))
		}
		got := strings.Join(all, "|")
		if after, bad := strings.CutPrefix(want, "!"); bad != (err != nil) || bad && !strings.Contains(err.Error(), after) || !bad && got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "*", "ftp://h*", "://", "ftp:///"} {
		if c, err := Choices(text); err != nil || len(c) != 1 || c[0].URL != text {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

// TestPattern checks the pattern of a listing, written "URL pattern", or "!error".
func TestPattern(t *testing.T) {
	for text, want := range map[string]string{
		"a.gz": "a.gz ", "d/a{b,c}.gz": "d/ a{b,c}.gz", "x[08-10:2]y": " x{08,10}y", "{a,b}/f": " {a,b}/f", "{a,b}/": " {a,b}", "p/{a,b}/x*": "p/ {a,b}/x*", "d/": "d/ ",
		"*": " *", "d/*.gz": "d/ *.gz", "p/*/README": "p/ */README", "p/*/": "p/ *", "%2A%7B": "%2A%7B ", "[a": "!malformed", "[5-1]": "!is none", "{1..3}": "!write [1-3]",
	} {
		c, err := Pattern("ftp://h/" + text)
		got := strings.TrimPrefix(c.URL, "ftp://h/") + " " + c.Pattern
		if after, bad := strings.CutPrefix(want, "!"); bad != (err != nil) || bad && !strings.Contains(err.Error(), after) || !bad && got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// TestListAcrossDirectories checks that a list that has a "/" in it is an error that says what to write.
func TestListAcrossDirectories(t *testing.T) {
	for _, text := range []string{"ftp://h/{2026/11/27..2026/11/28}/f", "ftp://h/a{b/c,d}", "ftp://h/*/{a/b}"} {
		if _, err := Choices(text); err == nil || !strings.Contains(err.Error(), "has a / in it: write a list for each directory") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
