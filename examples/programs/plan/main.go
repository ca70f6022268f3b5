// Command plan prints the FTP commands that URLs mean, without a network.
//
//	plan 'ftp://user:secret@ftp.example.org/%2Fetc/motd;type=a'
package main

import (
	"fmt"
	"io"
	"os"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func main() {
	if err := plan(os.Stdout, os.Args[1:]...); err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
		os.Exit(1)
	}
}

// plan prints each URL, without its password, followed by its commands.
func plan(w io.Writer, rawURLs ...string) error {
	for _, raw := range rawURLs {
		u, err := urlparse.Parse(raw)
		if err != nil {
			return err
		}
		commands, err := ftpexec.Plan(u)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, u.Redacted())
		for _, c := range commands {
			fmt.Fprintln(w, "   ", c)
		}
	}
	return nil
}
