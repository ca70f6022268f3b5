package digest

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		in   string
		want Algorithm // of the digest of "abc"
	}{
		{"sha256:" + abc[SHA256], SHA256},
		{"SHA256:" + strings.ToUpper(abc[SHA256]), SHA256},
		{"sha-256:" + abc[SHA256], SHA256},
		{"SHA2-256:" + abc[SHA256], SHA256},
		{" sha256:" + abc[SHA256] + "\n", SHA256},
		{"sha512:" + abc[SHA512], SHA512},
		{"SHA-512:" + abc[SHA512], SHA512},
		{"blake2b:" + abc[BLAKE2b], BLAKE2b},
		{"BLAKE2b-512:" + abc[BLAKE2b], BLAKE2b},
		{"sha1:" + abc[SHA1], SHA1},
		{"Sha_1:" + abc[SHA1], SHA1},
		{"md5:" + abc[MD5], MD5},
		{"crc32:" + abc[CRC32], CRC32},
		{"CRC-32:" + abc[CRC32], CRC32},
	}
	for _, tt := range tests {
		got, err := Parse(tt.in)
		if err != nil || got.Algorithm != tt.want || got.Hex() != abc[tt.want] {
			t.Errorf("Parse(%q) = %s, %v", tt.in, got, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	const all = "sha512, blake2b, sha256, sha1, md5 or crc32"
	digits := func(n int) string { return strings.Repeat("a", n) }
	tests := []struct{ in, want string }{
		{"", "no digest given: write ALGO:HEX, for example sha256: and 64 hexadecimal digits"},
		{"sha256", `"sha256" has no algorithm: write ALGO:HEX, where ALGO is ` + all},
		{"sha256=" + digits(64), `"sha256=` + digits(33) + `..." has no algorithm: write ALGO:HEX, where ALGO is ` + all},
		{abc[CRC32], "the digest has no algorithm: write crc32:" + abc[CRC32]},
		{abc[MD5], "the digest has no algorithm: write md5:" + abc[MD5]},
		{abc[SHA1], "the digest has no algorithm: write sha1:" + abc[SHA1]},
		{abc[SHA256], "the digest has no algorithm: write sha256:" + abc[SHA256]},
		{abc[SHA512], "the digest has no algorithm: write sha512: or blake2b: in front of the digits"},
		{digits(3), `"aaa" has no algorithm: write ALGO:HEX, where ALGO is ` + all},
		{"sha3:" + digits(64), `unknown digest algorithm "sha3": write ` + all},
		{"sha384:" + digits(96), `unknown digest algorithm "sha384": write ` + all},
		{"sha512/256:" + digits(64), `unknown digest algorithm "sha512/256": write ` + all},
		{":" + digits(64), `unknown digest algorithm "": write ` + all},
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
		got, err := Parse(tt.in)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q) = %s, %v\nwant %s", tt.in, got, err, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, a := range Algorithms() {
		f.Add(string(a) + ":" + abc[a])
		f.Add(strings.ToUpper(string(a)) + ":" + abc[a])
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
		if len(sum.Digest) == 0 || len(sum.Digest) != sum.Algorithm.Size() {
			t.Errorf("Parse(%q) = %s, %d bytes", s, sum, len(sum.Digest))
		}
		if again, err := Parse(sum.String()); err != nil || !again.Equal(sum) {
			t.Errorf("Parse(%q) = %s, and that is %s, %v", s, sum, again, err)
		}
	})
}

func TestParseHex(t *testing.T) {
	for _, tt := range []struct {
		a        Algorithm
		in, want string
	}{
		{MD5, "900150983CD24fb0d6963f7d28e17f72", "md5:900150983cd24fb0d6963f7d28e17f72"},
		{MD5, "900150983CD24fb0d6963f7d28e17f7", "md5 has 32 hexadecimal digits, not 31"},
		{SHA1, "900150983CD24fb0d6963f7d28e17f72", "sha1 has 40 hexadecimal digits, not 32"},
		{CRC32, "0x123456", "crc32: 'x' at character 2 is not a hexadecimal digit"},
		{CRC32, "", "crc32 has 8 hexadecimal digits, not 0"},
	} {
		sum, err := ParseHex(tt.a, tt.in)
		got := sum.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("ParseHex(%s, %q): got %q, want %q", tt.a, tt.in, got, tt.want)
		}
	}
}

func TestParseLine(t *testing.T) {
	const sum = "900150983cd24fb0d6963f7d28e17f72"
	for _, tt := range []struct {
		in, name, want string
		ok             bool
	}{
		{sum + "  ./a b", "./a b", "md5:" + sum, true},
		{sum + " *a", "a", "md5:" + sum, true},
		{"MD5 (a) = " + sum, "a", "md5:" + sum, true},
		{"\\" + sum + `  a\nb`, "a\nb", "md5:" + sum, true},
		{sum, "", "md5:" + sum, true},
		{sum[1:] + "  a", "a", "", false},
		{"SHA1 (a) = " + sum, "a", "", false},
		{"", "", "", false},
		{"ftp://h/a", "", "", false},
	} {
		name, got, ok := ParseLine(tt.in)
		if ok != tt.ok || ok && name != tt.name || got.String() != tt.want {
			t.Errorf("ParseLine(%q): got %q, %s, %v", tt.in, name, got, ok)
		}
	}
}
