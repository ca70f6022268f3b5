package digest_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"strings"

	"example.com/ftpfetch/download/digest"
)

const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc"

// Whether bytes have the digest that a person gave.
func ExampleParse() {
	want, err := digest.Parse("SHA-256:" + abc)
	if err != nil {
		log.Fatal(err)
	}
	h := digest.New(want.Algorithm)
	if _, err := io.Copy(h, strings.NewReader("abc")); err != nil {
		log.Fatal(err)
	}
	got := digest.Sum{Algorithm: want.Algorithm, Digest: h.Sum(nil)}
	fmt.Println(want.Equal(got))

	_, err = digest.Parse("900150983cd24fb0d6963f7d28e17f72")
	fmt.Println(err)
	// Output:
	// true
	// the digest has no algorithm: write md5:900150983cd24fb0d6963f7d28e17f72
}

// A digest from a column whose head names the algorithm.
func ExampleParseHex() {
	sum, err := digest.ParseHex(digest.MD5, "900150983CD24FB0D6963F7D28E17F72")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum)
	fmt.Println(sum.Hex())
	// Output:
	// md5:900150983cd24fb0d6963f7d28e17f72
	// 900150983cd24fb0d6963f7d28e17f72
}

func ExampleFind() {
	list := "900150983cd24fb0d6963f7d28e17f72  other/abc.txt\n" +
		"SHA256 (abc.txt) = " + abc + "\n"
	sum, err := digest.Find(strings.NewReader(list), "abc.txt", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum.Algorithm, sum.Hex()[:8])

	_, err = digest.Find(strings.NewReader(list), "xyz.txt", "")
	fmt.Println(errors.Is(err, digest.ErrNotListed))
	// Output:
	// sha256 ba7816bf
	// true
}

// A list line by line.
func ExampleParseLine() {
	for _, line := range []string{"# digests", abc + " *abc.txt"} {
		if name, sum, ok := digest.ParseLine(line); ok {
			fmt.Println(name, sum.Algorithm)
		}
	}
	// Output: abc.txt sha256
}

// Where servers keep the digest of a file, best first.
func ExampleSidecars() {
	files := map[string]string{"SHA256SUMS": abc + "  abc.txt\n"} // on the server
	for _, sidecar := range digest.Sidecars("abc.txt") {
		text, ok := files[sidecar.File]
		if !ok {
			continue
		}
		sum, err := sidecar.Find(strings.NewReader(text), "abc.txt")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(sidecar.File, sum.Algorithm)
	}
	// Output: SHA256SUMS sha256
}

func ExampleAlgorithms() {
	for _, a := range digest.Algorithms() {
		fmt.Println(a, 8*a.Size(), "bits")
	}
	// Output:
	// sha512 512 bits
	// blake2b 512 bits
	// sha256 256 bits
	// sha1 160 bits
	// md5 128 bits
	// crc32 32 bits
}

func ExampleNamed() {
	fmt.Println(digest.Named("SHA2-256"), digest.Named("sha-1"), digest.Named("rot13") == "")
	// Output: sha256 sha1 true
}
