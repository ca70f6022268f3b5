package urlparse

import (
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/table"
)

func TestGuessType(t *testing.T) {
	for want, names := range map[Typecode][]string{
		TypeASCII: {"a.txt", "A.TXT", "a.b.html"},
		TypeImage: {"x.tar.gz", "README", "", ".txt", "txt", "a.", "a.txt.gz", "a.\xe9"},
	} {
		for _, name := range names {
			if got := GuessType(name); got != want {
				t.Errorf("GuessType(%q) = %v, want %v", name, got, want)
			}
		}
	}
}

func TestSameLogin(t *testing.T) {
	cases := []struct {
		a, b string
		want bool
	}{
		{"ftp://h/a", "FTP://H:21/b/c", true}, {"ftps://h/", "ftps://h:990", true}, {"ftp://é.example/", "ftp://xn--9ca.example/", true},
		{"ftp://%61:p@h/", "ftp://a:%70@h/", true}, {"ftp://h/a", "ftps://h:21/a", false}, {"ftp://h/a", "ftpes://h/a", false},
		{"ftp://h/", "ftp://@h/", false}, {"ftp://@h/", "ftp://:@h/", false}, {"ftp://u@h/", "ftp://u:@h/", false},
		{"ftp://u:p@h/", "ftp://u:q@h/", false}, {"ftp://h/", "ftp://h./", false}, {"ftp://h/", "ftp://h:22/", false},
	}
	if mustParse(t, "ftp://h/").SameLogin(nil) {
		t.Error("a URL has the login of none")
	}
	for _, c := range cases {
		a, b := mustParse(t, c.a), mustParse(t, c.b)
		if a.SameLogin(b) != c.want || b.SameLogin(a) != c.want {
			t.Errorf("%s, %s: SameLogin is not %v", c.a, c.b, c.want)
		}
	}
}

// TestWithoutPassword checks that a URL without its password still names the same file, and shows no more of the
// password than Redacted does.
func TestWithoutPassword(t *testing.T) {
	for _, c := range table.Rows(t, "redacted.txt", "redacted") {
		in, bare := c[0], c[2]
		u := mustParse(t, in)
		if got := u.WithoutPassword().String(); got != bare {
			t.Errorf("%s: got %q, want %q", in, got, bare)
		}
		if got := must.Get(u.MarshalText())(t); string(got) != bare {
			t.Errorf("%s: marshalled as %q, want %q", in, got, bare)
		}
		if key := u.Key(); KeyOf(key) != key {
			t.Errorf("%q is stored and then read as %q", key, KeyOf(key))
		}
		if u.String() != in {
			t.Errorf("%s was changed: %q", in, u.String())
		}
	}
}

// TestKeyOfEarlierVersions checks the keys of texts that earlier versions stored.
func TestKeyOfEarlierVersions(t *testing.T) {
	for stored, of := range map[string]string{
		"ftp://h/a":                "ftp://h/a",
		"ftp://h:21/a":             "ftp://h/a",
		"ftps://h:990/a":           "ftps://h/a",
		"ftp://u@h:2121/a%40b/c":   "ftp://u:pw@h:2121/a@b/c",
		"ftp://h/pkg%401.0/a":      "ftp://h/pkg@1.0/a",
		"ftp://h/a/pkg%401;type=i": "ftp://h/a/pkg@1;type=i",
	} {
		if got, want := KeyOf(stored), mustParse(t, of).Key(); got != want {
			t.Errorf("%s: got %q, want %q", stored, got, want)
		}
	}
	for _, ambiguous := range []string{"ftp://h:2121/***%40x/report", "ftp://h/x,ftp%3A//me%3A***%40b/y"} {
		if KeyOf(ambiguous) == mustParse(t, ambiguous).Key() {
			t.Errorf("%s matches a URL", ambiguous)
		}
	}
}
