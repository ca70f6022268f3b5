package urlparse_test

import (
	"testing"

	"example.com/ftpfetch/urlparse"
)

// What follows a colon in the name of a user is hidden, unless it is the port of "user@host:port", as relays take it.
func TestRedactedRelay(t *testing.T) {
	for text, want := range map[string]string{
		"ftp://me%40real.example%3A2121@relay/f":       "ftp://me%40real.example%3A2121@relay/f",
		"ftp://me%40real.example%3A2121:pass@relay/f":  "ftp://me%40real.example%3A2121:***@relay/f",
		"ftp://me%40real.example%3A65535@relay/f":      "ftp://me%40real.example%3A65535@relay/f",
		"ftp://me%40real.example%3A65536@relay/f":      "ftp://me%40real.example%3A***@relay/f",
		"ftp://me%40real.example%3A0@relay/f":          "ftp://me%40real.example%3A***@relay/f",
		"ftp://me%40real.example%3Asecret@relay/f":     "ftp://me%40real.example%3A***@relay/f",
		"ftp://me%40real.example%3A2121x@relay/f":      "ftp://me%40real.example%3A***@relay/f",
		"ftp://me%3A2121@relay/f":                      "ftp://me%3A***@relay/f",
		"ftp://me%3A2121%40real.example%3A21@relay/f":  "ftp://me%3A***@relay/f",
		"ftp://me%3Asecret%40real.example@relay/f":     "ftp://me%3A***@relay/f",
		"ftp://me%40real.example@relay/f":              "ftp://me%40real.example@relay/f",
		"ftp://me%40real.example%3A21%3A22@relay:99/f": "ftp://me%40real.example%3A***@relay:99/f",
	} {
		u, err := urlparse.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Redacted(); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

// A URL without its password keeps that port too.
func TestRelayWithoutPassword(t *testing.T) {
	for text, want := range map[string]string{
		"ftp://me%40real.example%3A2121:pass@relay/f":  "ftp://me%40real.example%3A2121@relay/f",
		"ftp://me%40real.example%3A2121@relay/f":       "ftp://me%40real.example%3A2121@relay/f",
		"ftp://me%40real.example%3Asecret@relay/f":     "ftp://me%40real.example@relay/f",
		"ftp://me%40real.example%3A65536:pass@relay/f": "ftp://me%40real.example@relay/f",
		"ftp://me%3A2121@relay/f":                      "ftp://me@relay/f",
		"ftp://me%3A@relay/f":                          "ftp://me@relay/f",
		"ftp://me:pass@relay/f":                        "ftp://me@relay/f",
		"ftp://relay/f":                                "ftp://relay/f",
	} {
		u, err := urlparse.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.WithoutPassword().String(); got != want {
			t.Errorf("%s is %s without its password, want %s", text, got, want)
		}
	}
}
