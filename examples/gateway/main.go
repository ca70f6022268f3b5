// Command gateway shows an FTP directory in a web browser: go run ./examples/gateway ftp://ftp.example.org/pub/
package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"html/template"
	"io"
	"io/fs"
	"log"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
)

//go:embed page.html
var text string
var page = template.Must(template.New("page").Funcs(template.FuncMap{"link": link}).Parse(text))

func link(name string) string { return (&url.URL{Path: "./" + name}).String() }

func main() {
	flag.Parse()
	tree, err := ftpfs.Open(context.Background(), &ftpexec.Client{MaxConns: 8, MaxIdle: 8}, flag.Arg(0))
	l, refused := net.Listen("tcp", cmp.Or(flag.Arg(1), "127.0.0.1:8021")) // only for this machine
	if err = errors.Join(err, refused); err != nil {
		log.Fatal("usage: gateway ftp://HOST/DIRECTORY/ [ADDRESS]: ", err)
	}
	log.Printf("http://%s/", l.Addr())
	log.Fatal(http.Serve(l, gateway(tree)))
}

// gateway serves the files and directories of a tree, and nothing above it, because a name with ".." is invalid.
func gateway(tree *ftpfs.FS) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f, err := tree.WithContext(r.Context()).Open(cmp.Or(strings.Trim(r.URL.Path, "/"), "."))
		if err == nil {
			defer f.Close()
			err = serve(w, r, f)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
			http.Error(w, err.Error(), http.StatusNotFound)
		} else if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}
}

// serve sends a file, or a range of it, or a page that lists a directory.
func serve(w http.ResponseWriter, r *http.Request, f fs.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir() && strings.HasSuffix(r.URL.Path, "/"):
		return list(w, r, f.(fs.ReadDirFile))
	case info.IsDir():
		w.Header().Set("Location", link(info.Name())+"/")
		w.WriteHeader(http.StatusFound)
		return nil
	}
	w.Header().Set("Content-Security-Policy", "sandbox") // a page from the server must not act as one of this site
	w.Header().Set("Content-Type", cmp.Or(mime.TypeByExtension(path.Ext(info.Name())), "application/octet-stream"))
	if info.Size() >= 0 {
		http.ServeContent(w, r, "", info.ModTime(), f.(io.ReadSeeker))
	} else if _, err := io.Copy(w, f); err != nil {
		panic(http.ErrAbortHandler) // so that the client does not take a part for the whole file
	}
	return nil
}

// list sends a page in the order that the query asks for, by default sorted by name.
func list(w http.ResponseWriter, r *http.Request, dir fs.ReadDirFile) error {
	entries, err := dir.ReadDir(-1)
	if err != nil && !errors.Is(err, ftpexec.ErrLine) { // ErrLine is about one entry, which cannot be shown
		return err
	}
	var infos []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			infos = append(infos, info)
		}
	}
	switch r.URL.RawQuery {
	case "size":
		slices.SortStableFunc(infos, func(a, b fs.FileInfo) int { return cmp.Compare(b.Size(), a.Size()) })
	case "time":
		slices.SortStableFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	}
	return page.Execute(w, map[string]any{"Path": r.URL.Path, "Entries": infos})
}
