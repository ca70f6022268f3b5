package urlparse_test

import (
	"fmt"

	"example.com/ftpfetch/urlparse"
)

func ExampleParse() {
	u, err := urlparse.Parse("ftp://myname@host.dom/%2Fetc/motd;type=a")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("USER", u.User.Username())
	for _, dir := range u.Dirs {
		fmt.Println("CWD", dir)
	}
	fmt.Println("RETR", u.Name, "as", u.Type)
	// Output:
	// USER myname
	// CWD /etc
	// RETR motd as a
}

func ExampleParse_refused() {
	_, err := urlparse.Parse("ftp://joe:top#secret@host.dom/pub")
	fmt.Println(err)
	_, err = urlparse.Parse("ftp.example.org/pub")
	fmt.Println(err)
	// Output:
	// ftp://joe:***@host.dom/pub: column 14: "#" cannot stand unencoded in a password; write %23
	// ftp.example.org/pub: the scheme is missing; write ftp://ftp.example.org/pub
}
