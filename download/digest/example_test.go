package digest_test

import (
	"fmt"

	"example.com/ftpfetch/download/digest"
)

// Parse accepts the spellings that people use, and explains what is wrong with others.
func ExampleParse() {
	fmt.Println(digest.Parse("SHA-1:a9993e364706816aba3e25717850c26c9cd0d89d"))
	_, err := digest.Parse("md5=900150983cd24fb0d6963f7d28e17f7")
	fmt.Println(err)
	// Output:
	// sha1:a9993e364706816aba3e25717850c26c9cd0d89d <nil>
	// md5 has 32 hexadecimal digits, not 31
}
