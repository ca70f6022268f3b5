// Command goftp serves a directory with goftp.io/server, to anyone: goftp HOST:PORT DIRECTORY.
package main

import (
	"cmp"
	"log"
	"net"
	"os"
	"strconv"

	"goftp.io/server/v2"
	"goftp.io/server/v2/driver/file"
)

// anyone lets every user in.
type anyone struct{}

func (anyone) CheckPasswd(*server.Context, string, string) (bool, error) { return true, nil }

func main() {
	host, text, err := net.SplitHostPort(os.Args[1])
	port, perr := strconv.Atoi(text)
	files, ferr := file.NewDriver(os.Args[2])
	if err := cmp.Or(err, perr, ferr); err != nil {
		log.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{Driver: files, Auth: anyone{}, Perm: server.NewSimplePerm("owner", "group"),
		Hostname: host, Port: port, Name: "goftp", WelcomeMessage: "goftp"})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.ListenAndServe())
}
