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
		{"sha256:" + abc["sha256"], "sha256"},
		{"SHA256:" + strings.ToUpper(abc["sha256"]), "sha256"},
		{"sha-256:" + abc["sha256"], "sha256"},
		{"SHA2-256:" + abc["sha256"], "sha256"},
		{" sha256:" + abc["sha256"] + "\n", "sha256"},
		{"sha512:" + abc["sha512"], "sha512"},
		{"SHA-512:" + abc["sha512"], "sha512"},
		{"blake2b:" + abc["blake2b"], "blake2b"},
		{"BLAKE2b-512:" + abc["blake2b"], "blake2b"},
		{"sha1:" + abc["sha1"], "sha1"},
		{"Sha_1:" + abc["sha1"], "sha1"},
		{"md5:" + abc["md5"], "md5"},
		{"crc32:" + abc["crc32"], "crc32"},
		{"CRC-32:" + abc["crc32"], "crc32"},
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
		{abc["crc32"], "the digest has no algorithm: write crc32:" + abc["crc32"]},
		{abc["md5"], "the digest has no algorithm: write md5:" + abc["md5"]},
		{abc["sha1"], "the digest has no algorithm: write sha1:" + abc["sha1"]},
		{abc["sha256"], "the digest has no algorithm: write sha256:" + abc["sha256"]},
		{abc["sha512"], "the digest has no algorithm: write sha512: or blake2b: in front of the digits"},
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
		if len(sum.Digest) != New(sum.Algorithm).Size() {
			t.Errorf("Parse(%q) = %s, %d bytes", s, sum, len(sum.Digest))
		}
		if again, err := Parse(sum.String()); err != nil || !again.Equal(sum) {
			t.Errorf("Parse(%q) = %s, and that is %s, %v", s, sum, again, err)
		}
	})
}
