package digest_test

import (
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
	fmt.Println(want.String() == got.String())

	_, err = digest.Parse("900150983cd24fb0d6963f7d28e17f72")
	fmt.Println(err)
	// Output:
	// true
	// the digest has no algorithm: write md5:900150983cd24fb0d6963f7d28e17f72
}
