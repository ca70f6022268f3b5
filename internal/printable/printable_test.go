package printable

import "testing"

func TestLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain name.txt", "plain name.txt"},
		{`back\slash`, `back\slash`},
		{"naïve – 日本", "naïve – 日本"},
		{"\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"}, // a zero-width non-joiner, as in Persian
		{"a\nb\tc\r", `a\x0ab\x09c\x0d`},
		{"\x1b[31mred\x7f", `\x1b[31mred\x7f`},
		{"caf\xe9", `caf\xe9`},
		{"\xff\xfe", `\xff\xfe`},
		{"c1 \u009b31m", `c1 \u009b31m`},
		{"cod\u202eexe.txt", `cod\u202eexe.txt`},
		{"\u2066x\u2069\u200f\ufeff", `\u2066x\u2069\u200f\ufeff`},
		{"line\u2028end", `line\u2028end`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"\ufffd stays", "\ufffd stays"},
	}
	for _, tt := range tests {
		if got := Line(tt.in); got != tt.want {
			t.Errorf("Line(%q) = %s, want %s", tt.in, got, tt.want)
		}
		if once := Line(tt.in); Line(once) != once {
			t.Errorf("Line(%q) leaves something to escape: %q", tt.in, once)
		}
	}
}

// TestOctets checks that the result identifies every byte.
func TestOctets(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "CWD a b~": "CWD a b~", `a\b`: `a\\b`, "a\r\n\x00\x7f": `a\x0d\x0a\x00\x7f`, "é\xff": `\xc3\xa9\xff`, "\u202e": `\xe2\x80\xae`,
	} {
		if got := Octets(in); got != want {
			t.Errorf("Octets(%q) = %s, want %s", in, got, want)
		}
	}
}

// TestJSON checks that JSON escapes the characters that control a terminal, and keeps the line end.
func TestJSON(t *testing.T) {
	in := map[string]string{"a": "<x\u009b\u202e\U000e0041\u200c"}
	if got, want := string(JSON(in)), `{"a":"<x\u009b\u202e\udb40\udc41`+"\u200c\"}\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 63.2 * (1 << 20): "63.2 MiB", 108 << 20: "108 MiB", 99.94 * 1024: "99.9 KiB",
		99.95 * 1024: "100 KiB", 1023.4 * 1024: "1023 KiB", 1<<30 - 1: "1.0 GiB", 5 << 40: "5.0 TiB", 1 << 60: "1048576 TiB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%f: got %s, want %s", n, got, want)
		}
	}
}
