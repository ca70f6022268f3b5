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
	"example.com/ftpfetch/urlparse"
)

func Example() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n", "/pub/news": "none\n"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	fsys, err := ftpfs.New(context.Background(), &c, at(s, "/"))
	if err != nil {
		log.Fatal(err)
	}
	err = fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, ftpexec.ErrLine): // an entry that cannot be listed; the walk goes on
			log.Print(err)
			return nil
		case err != nil:
			return err
		case d.IsDir():
			fmt.Println(path + "/")
			return nil
		}
		contents, err := fs.ReadFile(fsys, path)
		fmt.Printf("%s: %q\n", path, contents)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// ./
	// pub/
	// pub/motd: "hello\n"
	// pub/news: "none\n"
}

// at returns the URL of a path on s.
func at(s *testserver.Server, path string) *urlparse.URL {
	u, err := urlparse.Parse(s.URL(path))
	if err != nil {
		log.Fatal(err)
	}
	return u
}
