// Command go-getter lets github.com/hashicorp/go-getter/v2 get ftp URLs: files, and directories with all that is in them.
//
//	go -C examples/go-getter run .                                       # from a server in the same process
//	go -C examples/go-getter run . ftp://ftp.example.org/pub/x /tmp/x    # a file
//	go -C examples/go-getter run . ftp://ftp.example.org/pub/ /tmp/pub   # a directory
//
// It is a module of its own, so that ftpfetch needs none of go-getter's modules. Copy getter.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-getter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	switch len(args) {
	case 0:
		return demo(ctx, w)
	case 2:
		return get(ctx, w, args[0], args[1])
	}
	return errors.New("write: go-getter URL PATH")
}

// get saves what source names as path, and prints the files.
func get(ctx context.Context, w io.Writer, source, path string) error {
	c := &ftpexec.Client{}
	defer c.CloseIdleConnections()
	client := getter.Client{Getters: []getter.Getter{&Getter{c}}} // and getter.Getters, for other schemes
	mode := getter.ModeFile
	if strings.HasSuffix(source, "/") || strings.HasSuffix(source, ";type=d") {
		mode = getter.ModeDir
	}
	result, err := client.Get(ctx, &getter.Request{Src: source, Dst: path, GetMode: mode})
	if err != nil {
		return err
	}
	return filepath.WalkDir(result.Dst, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, err = filepath.Rel(filepath.Dir(result.Dst), name)
			fmt.Fprintln(w, filepath.ToSlash(name))
		}
		return err
	})
}

// demo gets a file, with its checksum, and a directory from a server of its own.
func demo(ctx context.Context, w io.Writer) (err error) {
	server, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/motd": "hello\n", "/pub/a/why?.txt": "a question\n"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	dir, err := os.MkdirTemp("", "go-getter-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	err = get(ctx, w, server.URL("/pub/motd?checksum=md5:b1946ac92492d2347c6235b4d2611184"), filepath.Join(dir, "file"))
	if err != nil {
		return err
	}
	return get(ctx, w, server.URL("/pub/"), filepath.Join(dir, "tree"))
}
