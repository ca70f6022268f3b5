package urlparse_test

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ftpfetch/urlparse"
)

func must(s string) *urlparse.URL {
	u, err := urlparse.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func ExampleParse() {
	u, err := urlparse.Parse("ftp://myname@host.dom/%2Fetc/motd;type=a")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("USER", u.User.Value)
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
	// ftp.example.org/pub: column 1: the scheme is missing; write ftp://ftp.example.org/pub
}

func ExampleParser_Parse() {
	_, err := urlparse.Parser{}.Parse("ftp://host.dom:25/")
	fmt.Println(err != nil)
	u, err := urlparse.Parser{AllowPort: true}.Parse("ftp://host.dom:25/")
	fmt.Println(u, err)
	// Output:
	// true
	// ftp://host.dom:25/ <nil>
}

func ExampleFind() {
	text := "I found it under <URL:ftp://info.cern.ch/pub/www/doc;\n" +
		"   type=d>, and in ftp://ds.internic.net/rfc, too.\n"
	for found, err := range urlparse.Find(strings.NewReader(text)) {
		fmt.Println(found.Line, found.URL, err)
	}
	// Output:
	// 1 ftp://info.cern.ch/pub/www/doc;type=d <nil>
	// 2 ftp://ds.internic.net/rfc <nil>
}

func ExampleParser_Find() {
	p := urlparse.Parser{AllowPort: true}
	for found, err := range p.Find(strings.NewReader("<URL:ftp://host.dom:6000/x> <URL:ftp://host.dom/a b#c>")) {
		fmt.Println(found.Text, err)
	}
	// Output:
	// ftp://host.dom:6000/x <nil>
	// ftp://host.dom/ab#c <URL:ftp://host.dom/a b#c>: column 24: "#" cannot stand unencoded in a path; write %23
}

func ExampleSome() {
	absent, empty := urlparse.Text{}, urlparse.Some("")
	fmt.Println(absent == empty, must("ftp://host.dom/").User == absent, must("ftp://@host.dom/").User == empty)
	// Output: false true true
}

func ExampleTypecode_String() {
	fmt.Printf("%q %q\n", urlparse.TypeNone, urlparse.TypeDir)
	// Output: "" "d"
}

func ExampleURL_String() {
	u := urlparse.URL{Scheme: urlparse.FTP, Host: "host.dom", Dirs: []string{"/etc", ""}, Name: "50% of;it?"}
	fmt.Println(u.String())
	// Output: ftp://host.dom/%2Fetc//50%25%20of%3Bit%3F
}

func ExampleURL_Redacted() {
	fmt.Println(must("ftp://joe:secret@host.dom/").Redacted())
	fmt.Println(must("ftp://joe@host.dom/").Redacted())
	// Output:
	// ftp://joe:***@host.dom/
	// ftp://joe@host.dom/
}

// What may stand in a file that others can read. Redacted would leave "***", which is a password too.
func ExampleURL_WithoutPassword() {
	fmt.Println(must("ftp://joe:secret@host.dom/pub/x").WithoutPassword().String())
	// Output: ftp://joe@host.dom/pub/x
}

// The same file on another server.
func ExampleURL_Path() {
	u := must("ftp://host.dom/pub/read%20me;type=a")
	mirror := must("ftp://mirror.host.dom" + u.Path())
	fmt.Println(mirror)
	// Output: ftp://mirror.host.dom/pub/read%20me;type=a
}

func ExampleURL_Format() {
	fmt.Printf("%v\n%q\n", must("ftp://joe:secret@host.dom/"), must("ftp://host.dom/"))
	// Output:
	// ftp://joe:***@host.dom/
	// "ftp://host.dom/"
}

func ExampleURL_LogValue() {
	fmt.Println(must("ftp://joe:secret@host.dom/").LogValue())
	// Output: ftp://joe:***@host.dom/
}

func ExampleURL_Child() {
	for _, dir := range []string{"ftp://host.dom/pub/", "ftp://host.dom/pub;type=d"} {
		u := must(dir)
		fmt.Println(u.Child("read me", urlparse.TypeNone), u.Child("src", urlparse.TypeDir))
	}
	// Output:
	// ftp://host.dom/pub/read%20me ftp://host.dom/pub/src/
	// ftp://host.dom/pub/read%20me ftp://host.dom/pub/src/
}

func ExampleURL_IsDir() {
	fmt.Println(must("ftp://host.dom/pub/").IsDir(), must("ftp://host.dom/pub;type=d").IsDir(), must("ftp://host.dom/pub").IsDir())
	// Output: true true false
}

func ExampleURL_Address() {
	fmt.Println(must("ftp://[::1]/").Address(), must("ftps://host.dom/").Address())
	// Output: [::1]:21 host.dom:990
}

func ExampleURL_PortOrDefault() {
	fmt.Println(must("ftp://h/").PortOrDefault(), must("ftps://h/").PortOrDefault(), must("ftp://h:2121/").PortOrDefault())
	// Output: 21 990 2121
}

func ExampleURL_Equal() {
	fmt.Println(must("ftp://host.dom/a").Equal(must("FTP://HOST.DOM:21/%61")))
	fmt.Println(must("ftp://host.dom/%2Fa").Equal(must("ftp://host.dom//a")))
	// Output:
	// true
	// false
}

func ExampleURL_Check() {
	u := &urlparse.URL{Scheme: urlparse.FTP, Host: "host.dom", Name: "x\r\nDELE y"}
	fmt.Println(u.Check())
	// Output: ftp://host.dom/x%0D%0ADELE%20y: column 17: a carriage return (CR) cannot be part of an FTP command, encoded or not
}

func ExampleParser_Check() {
	u := &urlparse.URL{Scheme: urlparse.FTP, Host: "host.dom", Port: 25}
	fmt.Println(u.Check() == nil, urlparse.Parser{}.Check(u) == nil)
	// Output: true false
}

func ExampleGuessType() {
	fmt.Println(urlparse.GuessType("rfc1738.txt"), urlparse.GuessType("rfc1738.txt.gz"))
	// Output: a i
}

func ExampleError() {
	_, err := urlparse.Parse("ftp://host.dom/a b")
	var e *urlparse.Error
	if errors.As(err, &e) {
		fmt.Println(e.Column, e.Reason, "->", e.Hint)
	}
	_, err = urlparse.Parse("gopher://host.dom/")
	fmt.Println(errors.Is(err, urlparse.ErrScheme))
	// Output:
	// 17 a space cannot stand unencoded in a path -> write %20
	// true
}
