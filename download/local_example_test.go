package download_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// What stands in the way of a file, and whose fault it is.
func ExampleError() {
	s, dir := serveMotd()
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "motd")
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	for _, o := range []download.Options{
		{Size: new(int64(9))},
		{Sum: digest.Sum{Algorithm: digest.CRC32, Digest: make([]byte, 4)}},
		{},
		{}, // the file is there now
	} {
		_, err := download.File(context.Background(), &c, u, path, &o)
		var failed *download.Error
		switch {
		case err == nil:
			fmt.Println("saved")
		case errors.Is(err, download.ErrExists):
			fmt.Println("set Options.Existing, or give another path")
		case errors.Is(err, download.ErrDigest), errors.Is(err, download.ErrSize):
			fmt.Println("the server has another file")
		case errors.As(err, &failed): // ErrLocal: a full disk, a directory that is missing
			fmt.Println(failed.Path, failed.Reason)
		default: // *ftpexec.Error: the transfer
			fmt.Println(err)
		}
	}
	// Output:
	// the server has another file
	// the server has another file
	// saved
	// set Options.Existing, or give another path
}

// A mirror: only what is newer on the server, and a word about the rest.
func ExampleOptions_newer() {
	s, dir := serveMotd()
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	options := download.Options{Newer: true, Existing: download.Overwrite}
	if err := options.Check(); err != nil { // File checks it too
		log.Fatal(err)
	}
	for range 2 {
		r, err := download.File(context.Background(), &c, u, filepath.Join(dir, "motd"), &options)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("left alone:", r.Skipped, r.Reason == download.ReasonNotNewer)
	}
	// Output:
	// left alone: false false
	// left alone: true true
}

func ExampleLocalName() {
	u, err := urlparse.Parse("ftp://host.dom/pub/read%20me")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(download.LocalName(u))
	u.Name = ".."
	_, err = download.LocalName(u)
	fmt.Println(errors.Is(err, download.ErrName))
	// Output:
	// read me <nil>
	// true
}

// A place for each URL below one directory, and whether two of them have the same.
func ExampleLocalPath() {
	taken := map[string]bool{}
	for _, text := range []string{"ftp://host.dom/pub/a", "ftp://host.dom/pub/b", "ftp://host.dom/pub/%61"} {
		u, err := urlparse.Parse(text)
		if err != nil {
			log.Fatal(err)
		}
		path, err := download.LocalPath(slices.Concat([]string{u.Host}, u.Dirs, []string{u.Name})...)
		if err != nil {
			log.Fatal(err)
		}
		key := download.PathKey(path) // where case does not matter, the same for A and a
		fmt.Println(path, taken[key])
		taken[key] = true
	}
	// Output:
	// host.dom/pub/a false
	// host.dom/pub/b false
	// host.dom/pub/a true
}

// Names that a server sends are text from outside: some lead out of the directory, some mean another file here.
func ExampleEntryNames() {
	var names download.EntryNames // for one directory
	for _, base := range []string{"motd", "..", "a/b", "motd"} {
		name, err := names.Local(base)
		if err != nil {
			fmt.Println("refused:", err)
			continue
		}
		fmt.Println(name)
	}
	// Output:
	// motd
	// refused: ..: is a directory, not a file name
	// refused: a/b: holds a "/" and would be saved in another directory
	// refused: motd: has the name of another entry of the listing
}

// A listing, saved as safely as a file: whole or not at all.
func ExampleSave() {
	s, dir := serveMotd()
	defer s.Close()
	defer os.RemoveAll(dir)

	u, err := urlparse.Parse(s.URL("/pub/"))
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	ctx := context.Background()
	r, err := download.Save(ctx, u.Redacted(), filepath.Join(dir, "names"), nil, func(w io.Writer) error {
		for entry, err := range c.List(ctx, u) {
			if err != nil {
				return err // then there is no file
			}
			if _, err := fmt.Fprintln(w, entry.Base); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Size, "bytes")
	// Output: 5 bytes
}

// A file that an earlier run has saved, looked at again below a root that no symbolic link leads out of.
func ExampleSumOf() {
	s, dir := serveMotd()
	defer s.Close()
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()

	u, err := urlparse.Parse(s.URL("/pub/motd"))
	if err != nil {
		log.Fatal(err)
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	ctx := context.Background()
	want, err := digest.Parse("md5:0bb3c30dc72e63881db5005f1aa19ac3")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := download.File(ctx, &c, u, "day/motd", &download.Options{Root: root, Sum: want}); err != nil { // it makes the directory
		log.Fatal(err)
	}
	sum, err := download.SumOf(ctx, root, "day/motd", want.Algorithm)
	if err != nil {
		log.Print(download.LocalError("day/motd", "cannot be compared", err))
		return
	}
	if sum.Equal(want) {
		download.Tidy(ctx, root, "day/motd") // what a killed run may have left beside it
		fmt.Println("complete")
	}
	// Output: complete
}

// serveMotd starts a server with a file, and makes a directory.
func serveMotd() (*testserver.Server, string) {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "welcome\n"}})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	return s, dir
}
