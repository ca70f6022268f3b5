package ftpfs_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/testserver"
)

func Example() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n", "/pub/news": "none\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	fsys, err := ftpfs.New(context.Background(), &c, s.URL("/"))
	if err != nil {
		log.Fatal(err)
	}
	err = fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, ftpexec.ErrLine) { // an entry that cannot be listed; the walk goes on
			log.Print(err)
			return nil
		}
		fmt.Println(path)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	contents, err := fs.ReadFile(fsys, "pub/motd")
	fmt.Printf("%q %v\n", contents, err)
	// Output:
	// .
	// pub
	// pub/motd
	// pub/news
	// "hello\n" <nil>
}
