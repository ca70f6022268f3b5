package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestEncoded checks that the refusal of a URL shows the encoded URL if encoding the path is all that it needs.
func TestEncoded(t *testing.T) {
	for text, want := range map[string]string{
		"ftp://h/two words": "ftp://h/two%20words", "ftp://h/a;b": "ftp://h/a%3Bb", "ftp://h/a;b;type=a": "ftp://h/a%3Bb;type=a", "ftp://h/x#1": "ftp://h/x%231", "ftp://h/50%": "ftp://h/50%25", "ftp://h/%4": "ftp://h/%254",
		"ftp://h/é%41|": "ftp://h/%C3%A9A%7C", "ftp://me:secret@h/a b": "ftp://me:***@h/a%20b", "ftp://me:secret#@h/a b": "", "ftp://h h/a b": "", "http://h/a b": "", "h/a b": "", "ftp://h": "", "ftp://h/%00 ": "",
	} {
		c, _ := Parse([]string{text})
		message := fmt.Sprint(c.Targets[0].Err)
		if want != "" && !strings.HasSuffix(message, "; write "+quoted(want)) || strings.Contains(message, "secret") || want == "" && strings.Contains(message, "%20") && !strings.HasSuffix(message, "%20") {
			t.Errorf("%s: %s", text, message)
		}
	}
}

// TestTaken checks which flags of other programs are accepted as they are, and which are in doubt.
func TestTaken(t *testing.T) {
	for args, want := range map[string]string{
		"-O f URL": "-o f URL", "-O - URL": "-o - URL", "-qO- URL": "-q -o - URL", "-O URL": "URL", "URL -O": "URL", "-q -O URL -O URL": "-q URL URL", "-Of.gz URL": "-o f.gz URL",
		"-O ftp.h/f": "", "-O 1=f URL": "", "-P d URL": "-d d URL", "-P 5 URL": "", "-P - URL": "", "-P URL": "", "-m URL/": "-r -N URL/", "-m 30 URL": "", "-m30 URL": "",
		"--mirror URL/": "-r -N URL/", "-m -P d URL/": "-r -N -d d URL/", "help": "-h", "version": "--version",
		"-?": "-h", "-h": "-h", "help man": "--help=man", "--help man": "--help=man", "-h bash": "--help=bash", "--completion zsh": "--help=zsh", "completion fish": "--help=fish", "--man": "--help=man", "man": "--help=man",
		"-lt URL/": "-lt URL/", "-la URL/": "-la URL/", "-lrt URL/": "-lrt URL/", "-lR URL/": "-lR URL/", "-l -St URL/": "", "-4 URL": "--ip 4 URL", "-6O URL": "--ip 6 URL", "-4 h/f URL": "--ip 4 h/f URL", "--inet6-only URL": "--ip 6 URL", "-l --human-readable URL/": "-l --human-readable URL/",
	} {
		words := strings.Fields(strings.ReplaceAll(args, "URL", "ftp://h/f"))
		r := read(words, "")
		if got := strings.Join(r.right, " "); (r.wrong == nil) != (want != "") || want != "" && got != strings.ReplaceAll(want, "URL", "ftp://h/f") {
			t.Errorf("%s: got %s, %q, want %s", args, got, r.wrong, want)
		}
	}
}

// TestNewcomers types each command of docs/coming-from.md with ftpfetch in place of the program's name. It must be read
// as, or answered with, the command beside it. What is advised in place of other flags names flags that exist.
func TestNewcomers(t *testing.T) {
	page := must.Get(os.ReadFile("../../../../docs/coming-from.md"))(t)
	rows := regexp.MustCompile("(?m)^\\| `(.*)` \\| `ftpfetch (.*)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 20 {
		t.Errorf("the page has %d commands", len(rows))
	}
	for _, row := range rows {
		typed, args := row[1], strings.Fields(strings.ReplaceAll(row[1], "URL", "ftp://host"))[1:]
		got := "ftpfetch" + read(args, "").written()
		if _, err := Parse(args); err != nil {
			_, got, _ = strings.Cut(err.Error(), ": ftpfetch ")
		}
		words := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(got, "ftpfetch "), "'", ""))
		want := strings.Fields(strings.ReplaceAll(row[2], "URL", "ftp://host"))
		slices.Sort(words)
		slices.Sort(want)
		if !slices.Equal(words, want) {
			_, err := Parse(args)
			t.Errorf("%s: got %q, want %q: %v", typed, words, want, err)
		}
	}
	l := read(nil, "")
	for _, a := range advised {
		for _, flag := range regexp.MustCompile("(?:^|[ '])(--?[a-zA-Z][a-z-]*)").FindAllStringSubmatch(a.write, -1) {
			if l.lookup(flag[1]) == nil {
				t.Errorf("%s: ftpfetch has no %s", a.spelling, flag[1])
			}
		}
	}
}

// TestTwice checks which flags that are given twice are noted. No note shows a password.
func TestTwice(t *testing.T) {
	for args, want := range map[string]string{
		"-j 8 -j 4":                       "-j is given twice: 4 counts, not 8",
		"-j 8 --jobs 4 -j 2":              "-j is given twice: 4 counts, not 8; -j is given twice: 2 counts, not 4",
		"-j 4 -j 4":                       "",
		"-d a -P b":                       "-d is given twice: b counts, not a",
		"--timeout 3s --timeout 1m":       "--timeout is given twice: 1m counts, not 3s",
		"--accept *.gz --accept *.txt -r": "",
		"--tls off --tls explicit -q -q":  "--tls is given twice: explicit counts, not off",
		"-u me:secret -u you:secret":      "-u is given twice: the last one counts",
		"--proxy h:1 --proxy none":        "--proxy is given twice: the last one counts",
		"--netrc=none -n":                 "-n is given twice: ~/.netrc counts, not none",
		"-4 --ip 6":                       "--ip is given twice: 6 counts, not 4",
		"--checksum md5:" + strings.Repeat("0", 32) + " --checksum md5:" + strings.Repeat("1", 32): "--checksum is given twice: md5:" + strings.Repeat("1", 32) + " counts, not md5:" + strings.Repeat("0", 32),
	} {
		c, err := Parse(append(strings.Fields(args), "ftp://h/f"))
		if got := strings.Join(c.Notes, "; "); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", args, got, err, want)
		}
	}
}

// TestCommandWithoutName checks which commands of --exec are refused, because they are not told the file.
func TestCommandWithoutName(t *testing.T) {
	for command, want := range map[string]string{
		`gzip "$1"`: "", `echo {} "$1"`: "", "load $FTPFETCH_URL": "",
		"gzip":      `--exec gzip: the command is not told which file: write '... "$1"', in single quotes`,
		"echo got ": `--exec echo got : the command is not told which file: write '... "$1"', in single quotes`,
		"gzip {}":   `--exec gzip {}: write "$1" in place of {}, and the command in single quotes`,
	} {
		got := ""
		if _, err := Parse([]string{"--exec", command, "ftp://h/f"}); err != nil {
			got, _, _ = strings.Cut(err.Error(), "\n")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}
