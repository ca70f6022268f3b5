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

// A plan is a value to look at before anything is sent: here, for commands that may not pass a firewall, and for
// whether a person must be asked for a password.
func ExamplePlan() {
	u, err := urlparse.Parse("ftp://myname@host.dom/-R/a%20b")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := ftpexec.NewPlan(u)
	if err != nil {
		log.Fatal(err)
	}
	for _, command := range plan.Commands {
		switch {
		case command.Password == ftpexec.PasswordAsked:
			fmt.Println("asks for a password")
		case command.Verb == "CWD" && command.Arg[0] == '-':
			fmt.Println("may be read as an option:", command.Line())
		}
	}
	// Output:
	// asks for a password
	// may be read as an option: CWD -R
}

// What a new connection carries if the server refuses nothing.
func ExamplePlan_Wire() {
	u, err := urlparse.Parse("ftp://host.dom/pub/motd")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := ftpexec.NewPlan(u)
	if err != nil {
		log.Fatal(err)
	}
	for _, command := range plan.Wire("EPSV") {
		fmt.Println(command)
	}
	// Output:
	// USER anonymous
	// PASS <anonymous>
	// CWD pub
	// TYPE I
	// SIZE motd
	// MDTM motd
	// EPSV
	// RETR motd
	// QUIT
}
