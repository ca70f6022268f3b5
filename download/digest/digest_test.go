package digest

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"example.com/ftpfetch/download/internal/algorithm"
)

// abc has the digests of the three bytes "abc".
var abc = map[string]string{
	"sha512":  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	"blake2b": "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
	"sha256":  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	"sha1":    "a9993e364706816aba3e25717850c26c9cd0d89d",
	"md5":     "900150983cd24fb0d6963f7d28e17f72",
	"crc32":   "352441c2",
	"bsdsum":  "40ac00000001",
}

// TestNew computes digests of a text that is written in two pieces.
func TestNew(t *testing.T) {
	if got := (Sum{}).String(); got != "" || len(algorithm.Names()) != len(abc) {
		t.Errorf("the zero Sum is %q, and there are %d algorithms, of which %d are tested", got, len(algorithm.Names()), len(abc))
	}
	for _, a := range algorithm.Names() {
		h := algorithm.New(a)
		_, _ = io.WriteString(h, "other")
		h.Reset()
		_, _ = io.WriteString(h, "ab")
		_, _ = io.WriteString(h, "c")
		if got := (Sum{Algorithm(a), h.Sum(nil)}).String(); got != a+":"+abc[a] {
			t.Errorf("got %s, want %s:%s", got, a, abc[a])
		}
	}
}

func TestNewUnknown(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepted an unknown algorithm")
		}
	}()
	algorithm.New("sha3")
}

func TestParse(t *testing.T) {
	names := map[string]string{ // other spellings, and the algorithms they name
		"SHA-512": "sha512", "BLAKE2b-512": "blake2b", "sha-256": "sha256", "SHA2-256": "sha256", " sha256": "sha256", "Sha_1": "sha1", "CRC-32": "crc32",
	}
	for _, a := range algorithm.Names() {
		names[a], names[strings.ToUpper(a)] = a, a
	}
	for name, a := range names {
		for _, digits := range []string{abc[a], strings.ToUpper(abc[a]), abc[a] + "\n"} {
			for _, in := range []string{name + ":" + digits, name + "=" + digits, digits} {
				got, err := Parse(in)
				if ambiguous := in == digits && len(abc[a]) == 128; (err != nil) != ambiguous || !ambiguous && got.String() != a+":"+abc[a] {
					t.Errorf("Parse(%q) = %s, %v", in, got, err)
				}
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	const all = "sha512, blake2b, sha256, sha1, md5, crc32, bsdsum"
	digits := func(n int) string { return strings.Repeat("a", n) }
	tests := []struct{ in, want string }{
		{"", "no digest given: write ALGO:HEX, for example sha256: and 64 hexadecimal digits"},
		{"sha256", `"sha256" has no algorithm: write ALGO:HEX, where ALGO is one of ` + all},
		{abc["sha512"], "the digest has no algorithm: write sha512: or blake2b: in front of the digits"},
		{digits(3), `"aaa" has no algorithm: write ALGO:HEX, where ALGO is one of ` + all},
		{"sha3:" + digits(64), `unknown digest algorithm "sha3": write one of ` + all},
		{"sha384:" + digits(96), `unknown digest algorithm "sha384": write one of ` + all},
		{"sha512/256:" + digits(64), `unknown digest algorithm "sha512/256": write one of ` + all},
		{":" + digits(64), `unknown digest algorithm "": write one of ` + all},
		{"sha256:", "sha256 has 64 hexadecimal digits, not 0"},
		{"sha256:" + digits(63), "sha256 has 64 hexadecimal digits, not 63"},
		{"sha256:" + digits(40), "sha256 has 64 hexadecimal digits, not 40: for this digest write sha1:"},
		{"sha1:" + digits(128), "sha1 has 40 hexadecimal digits, not 128: for this digest write sha512: or blake2b:"},
		{"md5:" + digits(31) + "g", "md5: 'g' at character 32 is not a hexadecimal digit"},
		{"md5: " + digits(32), "md5: ' ' at character 1 is not a hexadecimal digit"},
		{"md5:\x1b[31m", `md5: '\x1b' at character 1 is not a hexadecimal digit`},
		{"md5:0x" + digits(32), "md5: 'x' at character 2 is not a hexadecimal digit"},
	}
	for _, tt := range tests {
		if got, err := Parse(tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q) = %s, %v\nwant %s", tt.in, got, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, a := range algorithm.Names() {
		f.Add(a + ":" + abc[a])
		f.Add(strings.ToUpper(a) + ":" + abc[a])
		f.Add(abc[a])
	}
	for _, s := range []string{"", ":", "sha-256:", "md5:zz", "sha3:00", "md5:\xff", "SHA2-256:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sum, err := Parse(s)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("Parse(%q): the error is not one line: %q", s, err)
			}
			return
		}
		if len(sum.Digest) != algorithm.New(string(sum.Algorithm)).Size() {
			t.Errorf("Parse(%q) = %s, %d bytes", s, sum, len(sum.Digest))
		}
		if again, err := Parse(sum.String()); err != nil || again.String() != sum.String() {
			t.Errorf("Parse(%q) = %s, and that is %s, %v", s, sum, again, err)
		}
	})
}

// TestText checks that JSON and logs show a Sum as text, and that JSON reads it back.
func TestText(t *testing.T) {
	type file struct {
		Sum Sum
	}
	for a, digits := range abc {
		text := `{"Sum":"` + a + ":" + digits + `"}`
		var f file
		if err := json.Unmarshal([]byte(text), &f); err != nil || f.Sum.String() != a+":"+digits {
			t.Errorf("%s: got %v, %v", text, f.Sum, err)
		}
		if got, err := json.Marshal(f); string(got) != text || err != nil {
			t.Errorf("got %s, %v, want %s", got, err, text)
		}
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("done", "sum", f.Sum)
		if want := " sum=" + a + ":" + digits; !strings.Contains(log.String(), want) {
			t.Errorf("got %q, want %q", log.String(), want)
		}
	}
	f := file{Sum{"md5", make([]byte, 16)}}
	if err := json.Unmarshal([]byte(`{"Sum":""}`), &f); err != nil || f.Sum.String() != "" {
		t.Errorf("no text: %v, %v", f.Sum, err)
	}
	if got, err := json.Marshal(f); string(got) != `{"Sum":""}` || err != nil {
		t.Errorf("no digest: %s, %v", got, err)
	}
	for _, text := range []string{"md5", "md5:00", "sha3:00", "00"} {
		if err := f.Sum.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
