package digest

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// other is a digest that no search wants.
var other = strings.Repeat("0", 64)

func TestFindForms(t *testing.T) {
	h := abc[SHA256]
	tests := []struct{ name, list string }{
		{"f", h + "  f\n"},
		{"f", h + "  f"}, // no line end
		{"f", h + " *f\n"},
		{"f", h + " f\n"},
		{"f", h + "\tf\n"},
		{"f", h + "  f\r\n"},
		{"f", h + "  ./f\n"},
		{"f", "\ufeff" + h + "  f\n"},
		{"f", strings.ToUpper(h) + "  f\n"},
		{"f", "SHA256 (f) = " + h + "\n"},
		{"f", "SHA256 (./f) = " + h + "\n"},
		{"f", "SHA256(f)= " + h + "\n"},
		{"f", "SHA2-256(f)= " + h + "\n"},
		{"f", h + "\n"},
		{"f", h},
		{"f", "\n" + h + " \r\n\n"},
		{"f", h + "  -\n"},
		{"f", other + "  g\n" + h + "  f\n" + other + "  h\n"},
		{"f", h + "  f\n" + h + "  f\n"}, // twice the same
		{"f", h + "  f\nSHA256 (f) = " + h + "\n"},
		{"f", "# a comment\n; another\n\n" + h + "  f\n"},
		{"f", "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + h + "  f\n-----BEGIN PGP SIGNATURE-----\n"},
		{"f", "MD5 (f) = " + abc[MD5] + "\nSHA256 (f) = " + h + "\n"},
		{"a b", h + "  a b\n"},
		{" f", h + "   f\n"},
		{"*f", h + " **f\n"},
		{"f(1)", "SHA256 (f(1)) = " + h + "\n"},
		{"f) = 00", "SHA256 (f) = 00) = " + h + "\n"},
		{"a\nb", `\` + h + `  a\nb` + "\n"},
		{`a\b`, `\` + h + `  a\\b` + "\n"},
		{"a\rb", `\SHA256 (a\rb) = ` + h + "\n"},
		{`a\nb`, h + `  a\nb` + "\n"}, // without the mark there is no escape
		{"caf\xe9", h + "  caf\xe9\n"},
		{"-", h + "  -\n"},
	}
	for _, tt := range tests {
		got, err := Find(strings.NewReader(tt.list), tt.name, SHA256)
		if err != nil || got.String() != "sha256:"+h {
			t.Errorf("%q in %q: got %s, %v", tt.name, tt.list, got, err)
		}
	}
}

// TestFindAlgorithms finds a digest of every algorithm.
func TestFindAlgorithms(t *testing.T) {
	for _, a := range Algorithms() {
		for _, list := range []string{
			abc[a] + "  f\n", strings.ToUpper(string(a)) + " (f) = " + abc[a] + "\n", abc[a],
		} {
			if got, err := Find(strings.NewReader(list), "f", a); err != nil || got.String() != string(a)+":"+abc[a] {
				t.Errorf("%s in %q: got %s, %v", a, list, got, err)
			}
		}
	}
}

// TestFindNCBI reads a list in the form that NCBI uses.
func TestFindNCBI(t *testing.T) {
	list := abc[MD5] + "  ./GCF_1_genomic.fna.gz\n" + strings.Repeat("1", 32) + "  ./sub/GCF_1_genomic.fna.gz\n"
	got, err := Find(strings.NewReader(list), "GCF_1_genomic.fna.gz", MD5)
	if err != nil || got.Hex() != abc[MD5] {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestFindAny checks lines that tell the algorithm.
func TestFindAny(t *testing.T) {
	tests := []struct {
		list string
		want Algorithm // "" means none
	}{
		{"SHA256 (f) = " + abc[SHA256], SHA256},
		{"MD5 (f) = " + abc[MD5] + "\nSHA512 (f) = " + abc[SHA512] + "\nSHA1 (f) = " + abc[SHA1], SHA512},
		{abc[MD5] + "  f", MD5},
		{abc[SHA1] + "  f", SHA1},
		{abc[SHA256] + "  f", SHA256},
		{abc[SHA256], SHA256},
		{abc[SHA512] + "  f", ""}, // or BLAKE2b
		{abc[CRC32] + "  f", ""},  // or a date
		{"CRC32 (f) = " + abc[CRC32], CRC32},
		{"34567 12345 f", ""}, // sum(1)
		{"SHA3 (f) = " + abc[SHA256], ""},
	}
	for _, tt := range tests {
		got, err := Find(strings.NewReader(tt.list), "f", "")
		if got.Algorithm != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: got %s, %v", tt.list, got, err)
		}
	}
}

func TestFindErrors(t *testing.T) {
	h := abc[SHA256]
	broken := errors.New("broken")
	tests := []struct {
		list io.Reader
		name string
		want error
	}{
		{strings.NewReader(""), "f", ErrNotListed},
		{strings.NewReader(h + "  g\n"), "f", ErrNotListed},
		{strings.NewReader(h + "  F\n"), "f", ErrNotListed},
		{strings.NewReader(h + "  f \n"), "f", ErrNotListed},
		{strings.NewReader(h + "  dir/f\n"), "f", ErrNotListed},
		{strings.NewReader(h + "  ../f\n"), "f", ErrNotListed},
		{strings.NewReader(h + "  /f\n"), "f", ErrNotListed},
		{strings.NewReader(h + "  f.gz\n"), "f", ErrNotListed},
		{strings.NewReader(h + "0  f\n"), "f", ErrNotListed},
		{strings.NewReader(h[1:] + "  f\n"), "f", ErrNotListed},
		{strings.NewReader(h + ":f\n"), "f", ErrNotListed},
		{strings.NewReader(abc[MD5] + "  f\n"), "f", ErrNotListed},
		{strings.NewReader("SHA512 (f) = " + abc[SHA512] + "\n"), "f", ErrNotListed},
		{strings.NewReader("BLAKE2s (f) = " + h + "\n"), "f", ErrNotListed},
		{strings.NewReader("SHA256 (f) " + h + "\n"), "f", ErrNotListed},
		{strings.NewReader("SHA256 () = " + h + "\n"), "f", ErrNotListed},
		{strings.NewReader("(f) = " + h + "\n"), "f", ErrNotListed},
		{strings.NewReader(`\` + h + `  f\x` + "\n"), `f\x`, ErrNotListed},
		{strings.NewReader(`\` + h + `  f\`), `f\`, ErrNotListed},
		{strings.NewReader(h + "\n" + h + "  g\n"), "f", ErrNotListed},
		{strings.NewReader(h + "\n" + other + "\n"), "f", ErrNotListed},
		{strings.NewReader(h + "  f\n" + other + "  f\n"), "f", ErrAmbiguous},
		{strings.NewReader(h + "  f\n" + other + "  ./f\n"), "f", ErrAmbiguous},
		{strings.NewReader(h + "  f\nSHA256 (f) = " + other + "\n"), "f", ErrAmbiguous},
		{strings.NewReader(h + "  " + strings.Repeat("f", MaxLine)), "f", ErrTooLarge},
		{strings.NewReader(h + "  f\n" + strings.Repeat("x", MaxLine)), "f", ErrTooLarge},
		{io.MultiReader(strings.NewReader(h+"  f\n"), iotest.ErrReader(broken)), "f", broken},
	}
	for i, tt := range tests {
		if got, err := Find(tt.list, tt.name, SHA256); !errors.Is(err, tt.want) || got.Algorithm != "" {
			t.Errorf("case %d: got %s, %v, want %v", i, got, err, tt.want)
		}
	}
}

// TestFindLimit reads lists of exactly the limit and of one byte more.
func TestFindLimit(t *testing.T) {
	list := abc[SHA256] + "  f\n"
	if _, err := find(strings.NewReader(list), "f", SHA256, int64(len(list))); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if got, err := find(strings.NewReader(list+"\n"), "f", SHA256, int64(len(list))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %s, %v", got, err)
	}
}

func TestSidecarFind(t *testing.T) {
	for _, s := range Sidecars("f") {
		a := s.Algorithm
		if a == "" {
			a = SHA256
		}
		if got, err := s.Find(strings.NewReader(abc[a]+"  f\n"), "f"); err != nil || got.Hex() != abc[a] {
			t.Errorf("%s: got %s, %v", s.File, got, err)
		}
	}
}

// TestFindTagInName finds a name in the plain form that looks like the end of the
// tagged form.
func TestFindTagInName(t *testing.T) {
	for _, name := range []string{"notes (v2)=beef", "notes (v2) = beef", "SHA256 (x) = ab"} {
		if got, err := Find(strings.NewReader(abc[MD5]+"  "+name+"\n"), name, MD5); err != nil || got.Hex() != abc[MD5] {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
}

// TestSidecarNameless checks that a digest without a name counts only in the
// file's own list.
func TestSidecarNameless(t *testing.T) {
	for _, s := range Sidecars("f") {
		if s.Algorithm == "" {
			continue
		}
		for _, name := range []string{"", "  -"} {
			_, err := s.Find(strings.NewReader(abc[s.Algorithm]+name+"\n"), "f")
			if want := s.Whole; errors.Is(err, ErrNotListed) != want {
				t.Errorf("%s with the name %q: %v, want refused %v", s.File, name, err, want)
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	h := abc[SHA256]
	for _, list := range []string{
		"", h, h + "  f\n", h + " *f\r\n", `\` + h + `  a\nb`, "SHA256 (f) = " + h, "SHA2-256(f)= " + h, h + "  ./f\n" + h + "  g\n",
		abc[MD5] + "  f\n" + other + "  f", h + "  -", "\ufeff" + h, "\\", "(", "()=", "a ", "a\t", abc[SHA512] + " f",
	} {
		f.Add([]byte(list), "f", "sha256")
		f.Add([]byte(list), "a\nb", "")
	}
	f.Fuzz(func(t *testing.T, list []byte, name, wanted string) {
		sum, err := Find(strings.NewReader(string(list)), name, Algorithm(wanted))
		if err != nil {
			if sum.Algorithm != "" || sum.Digest != nil {
				t.Errorf("an error with a sum: %s, %v", sum, err)
			}
			return
		}
		if len(sum.Digest) == 0 || len(sum.Digest) != sum.Algorithm.Size() || wanted != "" && string(sum.Algorithm) != wanted {
			t.Errorf("%q of %q: got %s, %d bytes", wanted, list, sum, len(sum.Digest))
		}
		if !strings.Contains(strings.ToLower(string(list)), sum.Hex()) {
			t.Errorf("%s is not in %q", sum, list)
		}
	})
}
