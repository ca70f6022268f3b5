package ftpexec_test

import (
	"fmt"
	"log"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func ExampleNewPlan() {
	u, err := urlparse.Parse("ftp://myname@host.dom/%2Fetc/motd")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := ftpexec.NewPlan(u)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)
	// Output:
	// CONNECT host.dom:21
	// USER myname
	// PASS <prompt>
	// CWD /etc
	// TYPE I
	// RETR motd
}
