package urlparse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/table"
)

// TestNoPasswordInErrors parses texts that are not URLs: "S3", "KR" and "ET" are pieces of the password and must be
// nowhere in the error.
func TestNoPasswordInErrors(t *testing.T) {
	for _, in := range []string{
		"ftp://u:S3#KRET@h/", "ftp://u:S3@KRET@host/f", "ftp://u:S3KRET@ho st/", "ftp://u:S3KRET@h:99999/",
		"ftp://u:S3/KRET@h/f", "ftp://u:S3KR%ET@h/", "ftp://u:S3:KRET@h/", "ftp://u:S3KRET@h/a b",
		"ftp://u:S3KRET@h/a@b c", "ftp://u:1/S3@KRET@h/ ", "ftp://u:2/S3 KRET@h/", "ftp://u:S3KRET@/f",
		"ftp://u:S3KRET", "ftp://u:S3KRET/f", "ftp://u:S3KRET%40h/f", "ftp://u:S3/KRET%40h/f", "ftp://u /x:S3KRET@h/",
		"ftp:u:S3KRET@h/", "ftp:/u:S3KRET@h/#", "ftp//u:S3KRET@h/#", `ftp:\\u:S3KRET@h\x`, "fpt://u:S3KRET@h/",
		"u:S3KRET@h/f", "u:S3KRET@h", "u:/S3KRET@h/", "u:S3KRET", "//u:S3KRET@h/#", "http://u:S3KRET@h/", "sftp://u:S3@KRET@h/x",
		"<ftp://u:S3KRET@h/>", "<URL:ftp://u:S3KRET@h/", "<URL:ftp://u:S3\n#KRET@h/>", "<URL:ftp://u:S3KRET@h/> x",
		"URL:ftp://u:S3KRET@h/#", "URL: ftp://u:S3KRET@h/", "< URL:ftp://u:S3KRET@h/", " ftp://u:S3KRET@h/", `"ftp://u:S3KRET@h/"`,
		"FTP://u:S3\r\nKRET@h/", "ftp://u:S3%0aKRET@h/", "ftp://[u:S3KRET@h/", "ftp://u:S3KRET@[::1/", "ftp://u@d:S3KRET@h/",
		"ftp://u:é~S3KRET@h/", "ftp://:S3KRET@h:/", "ftp://u:S3KRET@h;type=d", "ftp://u:S3KRET@h/;type=a", "ftp://u:S3KRET@h/f;type=z",
		"ftp://u%3AS3KRET@h/ ", "ftp://u%3aS3KRET@h:99999/", "ftp://u%3AS3KRET", "ftp://u%3AS3KRET/f", "ftp://u%3AS3KRET%40h/f#", "ftp://u%3AS3:KRET@h /",
		"<URL:ftp://u%3AS3KRET@h/", "ftp://u%3AS3/KRET@h/f#", "http://u%3AS3KRET@h/", "ftp://u%3AS3%0aKRET@h/", "u%3AS3KRET@h",
		"ftp://u:S3@KR:/ET@h/", "ftp://u:S3@KR;ET/S3@h/", "ftp://u:S3@KR?ET/@h", "ftp://u:S3@%4BR/ET@h", "ftp://u:@KR:/ET@h/",
		"ftp://\xff\xff%3AS3KRET@h/", "ftp://\u0131%3aS3KRET@h /", "ftp://\u1e9e%3AS3KRET", "ftp://\xc8%3AS3KRET@h/f",
		"ftp:S3KRET@h/f", "FTP:S3KRET@h", "URL:ftp:S3KRET@h/f", "ftp:S3/KRET%40h",
	} {
		_, err := Parse(in)
		if err == nil {
			t.Errorf("Parse(%q) takes it", in)
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err)} {
			if leak := regexp.MustCompile("S3|KR|ET").FindString(text); leak != "" {
				t.Errorf("Parse(%q): %q is in %s", in, leak, text)
			}
		}
	}
}

func TestRedactKeepsTheRest(t *testing.T) {
	for in, want := range map[string]string{
		"ftp://u:p@h/f": "ftp://u:***@h/f", "ftp://u@h/f": "ftp://u@h/f", "ftp://u:@h/f": "ftp://u:***@h/f", "ftp://u%3Ap@h/f": "ftp://u%3A***@h/f",
		"ftp://u%3ap:q@h/f": "ftp://u%3a***@h/f", "ftp://h:21/f#": "ftp://h:21/f#", "ftp://h/a%3Ab#": "ftp://h/a%3Ab#", "ftp://h/a:b#": "ftp://h/a:b#",
		"ftp://[::1]:21/#": "ftp://[::1]:21/#", "ftp://[::1]:x/#": "ftp://[::1]:***/#", `C:\pub\x`: `C:\pub\x`, "http://h/a": "http://h/a", "\xc8%3A": "\xc8%3A", "": "",
	} {
		if got := redact(in); got != want {
			t.Errorf("redact(%q) = %q, want %q", in, got, want)
		}
	}
}

// A URL without its password still names the file, and shows no more of the password than Redacted does.
func TestSection6Redacted(t *testing.T) {
	for _, c := range table.Rows(t, "redacted.txt", "redacted") {
		in, redacted, bare := c[0], c[1], c[2]
		u := mustParse(t, in)
		if got, without := u.Redacted(), u.WithoutPassword().String(); got != redacted || without != bare {
			t.Errorf("%s: Redacted %q, WithoutPassword %q, want %q and %q", in, got, without, redacted, bare)
		}
		if u.String() != in {
			t.Errorf("%s was changed: %q", in, u.String())
		}
	}
}

// TestSection6Printing prints a URL, however it is nested, with every verb and flag of fmt, with log/slog and with
// encoding/json: nothing shows the password, spelled out or in hexadecimal digits.
func TestSection6Printing(t *testing.T) {
	u := mustParse(t, "ftp://u:secret@h/f")
	type named struct{ U *URL }
	holders := []any{
		u, *u, &u, []*URL{u}, []URL{*u}, [1]URL{*u}, map[string]URL{"": *u}, map[*URL]int{u: 1}, []any{u, *u}, named{u}, &named{u}, struct{ URL }{*u},
		struct{ U URL }{*u}, struct{ u *URL }{u}, struct{ u []*URL }{[]*URL{u}}, struct{ u any }{u}, fmt.Errorf("%v", u),
	}
	copies := []any{struct{ u URL }{*u}, &struct{ u URL }{*u}, struct{ u []URL }{[]URL{*u}}, struct{ u any }{*u}} // fmt can call no method of these
	check := func(how string, holder any, shown string) {
		plain := strings.ToLower(strings.NewReplacer(" ", "", "0x", "", ",", "").Replace(shown))
		if strings.Contains(plain, "secret") || strings.Contains(plain, fmt.Sprintf("%x", "secret")) {
			t.Errorf("%s of a %T shows the password: %s", how, holder, shown)
		}
	}
	for _, holder := range copies {
		check("%v", holder, fmt.Sprintf("%v %+[1]v %#[1]v", holder))
	}
	for _, holder := range holders {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", " ", "-", "0", "+#", " #", "40.30"} {
				format := "%" + flags + string(verb)
				check(format, holder, fmt.Errorf(format, holder).Error()+fmt.Sprintf(format+" %[2]v %v", holder, holder))
			}
		}
		b, _ := json.Marshal(holder)
		check("json", holder, string(b))
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "url", holder)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "url", holder)
		check("slog", holder, log.String())
	}
	if got, want := fmt.Sprintf("%s %q %d", u, u, *u), `ftp://u:***@h/f "ftp://u:***@h/f" ftp://u:***@h/f`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestErrorMessage(t *testing.T) {
	cases := []struct{ in, want string }{
		{"ftp://h/a#b", `ftp://h/a#b: column 10: "#" cannot stand unencoded in a path; write %23`},
		{"ftp://h/é\x1b[1m", `ftp://h/é\x1b[1m: column 11: the character U+001B cannot stand unencoded in a path; write %1B`},
		{"ftp://h/a\n\"b", `ftp://h/a\x0a"b: column 10: a line feed (LF) cannot be part of an FTP command`},
		{"ftp://h/\u202e \xff", `ftp://h/\u202e \xff: column 12: a space cannot stand unencoded in a path; write %20`},
		{"", `"": the URL is empty; write ftp://host/path`},
	}
	for _, c := range cases {
		if _, err := Parse(c.in); err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q)\n got %v\nwant %s", c.in, err, c.want)
		}
	}
	long := "ftp://h/" + strings.Repeat("é", 5000) + "#"
	if _, err := Parse(long); err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "...: column 10009") {
		t.Errorf("a long URL: %v", err)
	}
}
