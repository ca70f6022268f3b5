package digest

import (
	"encoding"
	"io"
	"testing"
)

// abc has the digests of the three bytes "abc".
var abc = map[Algorithm]string{
	"sha512":  "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
	"blake2b": "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
	"sha256":  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
	"sha1":    "a9993e364706816aba3e25717850c26c9cd0d89d",
	"md5":     "900150983cd24fb0d6963f7d28e17f72",
	"crc32":   "352441c2",
}

func TestNew(t *testing.T) {
	if len(Algorithms()) != len(abc) {
		t.Errorf("%d algorithms, %d tested", len(Algorithms()), len(abc))
	}
	for _, a := range Algorithms() {
		h := New(a)
		_, _ = io.WriteString(h, "abc")
		got := Sum{a, h.Sum(nil)}
		if want := string(a) + ":" + abc[a]; got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestState continues a digest in another hash, as after a restart.
func TestState(t *testing.T) {
	for _, a := range Algorithms() {
		first, second := New(a), New(a)
		_, _ = io.WriteString(first, "ab")
		state, err := first.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		if err := second.(encoding.BinaryUnmarshaler).UnmarshalBinary(state); err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		_, _ = io.WriteString(second, "c")
		if got := (Sum{a, second.Sum(nil)}).Hex(); got != abc[a] {
			t.Errorf("%s: got %s, want %s", a, got, abc[a])
		}
	}
}

func TestNewUnknown(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New accepted an unknown algorithm")
		}
	}()
	New("sha3")
}

func TestEqual(t *testing.T) {
	x := Sum{"md5", []byte("0123456789abcdef")}
	for _, tt := range []struct {
		y    Sum
		want bool
	}{
		{Sum{"md5", []byte("0123456789abcdef")}, true},
		{Sum{"md5", []byte("0123456789abcdeF")}, false},
		{Sum{"sha1", []byte("0123456789abcdef")}, false},
		{Sum{}, false},
	} {
		if got := x.Equal(tt.y); got != tt.want {
			t.Errorf("Equal(%s) = %v, want %v", tt.y, got, tt.want)
		}
	}
	if got := (Sum{}).String(); got != "" {
		t.Errorf("the zero Sum is %q", got)
	}
}
