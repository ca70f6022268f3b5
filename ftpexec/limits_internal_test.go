package ftpexec

import (
	"strings"
	"testing"
)

// wordingsOf returns the replies of a table.
func wordingsOf(table []wording) (replies []string) {
	for _, w := range table {
		for _, e := range w.examples {
			replies = append(replies, e.reply)
		}
	}
	return replies
}

// The replies of the two tables, for package ftpexec_test.
var (
	TooManyReplies     = wordingsOf(tooMany)
	TLSRequiredReplies = wordingsOf(tlsRequired)
	PartialReplies     = wordingsOf(partial)
)

// Every example matches its own pattern and belongs to one table only.
func TestWordings(t *testing.T) {
	for _, table := range []struct{ this, other []wording }{{tooMany, tlsRequired}, {tlsRequired, tooMany}, {partial, tooMany}} {
		for _, w := range table.this {
			for _, e := range w.examples {
				if text := strings.ToLower(e.reply); !w.pattern().MatchString(text) || oneOf(table.other, text) {
					t.Errorf("no pattern, or that of another table too, fits %q", e.reply)
				}
				if e.source == "" {
					t.Errorf("%q has no source", e.reply)
				}
			}
		}
	}
}

// Servers use similar words for other things.
func TestNoSuchWording(t *testing.T) {
	for _, text := range []string{
		"421 Too many authentication failures", "530 Not logged in, too many tries with incorrect password.", "530 Maximum login attempts. Disconnecting.",
		"530 Maximum number of login attempts exceeded", "501 Too many parameters", "550 /a: Too many levels of symbolic links", "550 Too many open files",
		"421 Login timeout (60 seconds): closing control connection", "530 Login incorrect.", "550 Sorry, maximum number of GETs reached for this session.",
		"530 Anonymous sessions may not use encryption.", "234 AUTH TLS OK.", "534 Fallback to [C]", "522 SSL connection failed: session reuse required",
		"425 No data connection", "550 Permission denied", "500 TLS not understood",
	} {
		if text := strings.ToLower(text); oneOf(tooMany, text) || oneOf(tlsRequired, text) {
			t.Errorf("%q is in a table", text)
		}
	}
}

func TestSays(t *testing.T) {
	tests := []struct{ text, name, want string }{
		{"f: Too many users", "", "f: too many users"},
		{"Too Many Users: no such file", "too many users", ": no such file"},
		{"Permission denied", "e", "permission denied"},
		{"e: Permission denied e", "e", ": permission denied "},
		{"a/f and f", "f", "a/ and "},
	}
	for _, tt := range tests {
		if got := says(newReply(reply("550 "+tt.text)), tt.name); got != tt.want {
			t.Errorf("%q without %q: got %q, want %q", tt.text, tt.name, got, tt.want)
		}
	}
}
