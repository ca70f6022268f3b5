package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"os"
	"sync"

	"example.com/ftpfetch/ftpexec"
)

func ExampleClient_FS() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	fsys, err := c.FS(context.Background(), local(s, "/"))
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

// A file of an FS is an io.Seeker and an io.ReaderAt.
func ExampleFS_Open() {
	s := exampleServer()
	defer s.Close()

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	fsys, err := c.FS(context.Background(), local(s, "/pub/"))
	if err != nil {
		log.Fatal(err)
	}
	f, err := fsys.Open("motd")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	part, err := io.ReadAll(io.NewSectionReader(f.(io.ReaderAt), 1, 3))
	fmt.Println(string(part), err)
	// Output: ell <nil>
}

func ExampleSlogTrace() {
	s := exampleServer()
	defer s.Close()

	plain := func(_ []string, a slog.Attr) slog.Attr { // what is the same in every run
		if a.Key == "time" || a.Key == "server" {
			return slog.Attr{}
		}
		return a
	}
	trace := ftpexec.SlogTrace(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: plain})))
	c := ftpexec.Client{MaxIdle: -1, Trace: func(e ftpexec.Event) {
		if e.Kind == ftpexec.EventCommand {
			trace(e)
		}
	}}
	if _, err := c.Stat(context.Background(), local(s, "/pub/motd")); err != nil {
		log.Fatal(err)
	}
	// Output:
	// level=DEBUG msg=ftp kind=command text="USER anonymous" conn=1 flight=1
	// level=DEBUG msg=ftp kind=command text="PASS <anonymous>" conn=1 flight=1
	// level=DEBUG msg=ftp kind=command text="CWD pub" conn=1 flight=1
	// level=DEBUG msg=ftp kind=command text="TYPE I" conn=1 flight=1
	// level=DEBUG msg=ftp kind=command text="SIZE motd" conn=1 flight=1
	// level=DEBUG msg=ftp kind=command text="MDTM motd" conn=1 flight=1
	// level=DEBUG msg=ftp kind=command text=QUIT conn=1 flight=2
}

// Many goroutines share two connections.
func ExampleClient_maxConns() {
	s := exampleServer()
	defer s.Close()

	c := ftpexec.Client{MaxConns: 2}
	defer c.CloseIdleConnections()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			r, err := c.Do(context.Background(), &ftpexec.Request{URL: local(s, "/pub/motd")})
			if err != nil {
				log.Fatal(err)
			}
			defer r.Body.Close()
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				log.Fatal(err)
			}
		})
	}
	all.Wait()
	fmt.Println(s.Connections() <= 2)
	// Output: true
}
