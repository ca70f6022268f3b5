package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"os"

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
