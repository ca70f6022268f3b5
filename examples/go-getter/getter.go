// Package ftpgetter lets github.com/hashicorp/go-getter/v2 get ftp URLs, both files and whole directories.
//
//	client := getter.Client{Getters: []getter.Getter{&ftpgetter.Getter{Client: &ftpexec.Client{}}}} // and getter.Getters, for other schemes
//	_, err := client.Get(ctx, &getter.Request{Src: "ftp://ftp.example.org/pub/", Dst: "/tmp/pub", GetMode: getter.ModeDir})
//
// The package is a module of its own, so that ftpfetch does not depend on go-getter. Copy getter.go into your program.
package ftpgetter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	getter "github.com/hashicorp/go-getter/v2"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// Getter is a [getter.Getter] for the schemes ftp, ftps and ftpes. It must come before getters that accept any URL.
type Getter struct {
	Client *ftpexec.Client
}

var _ getter.Getter = (*Getter)(nil)

// Detect reports whether the request is for an ftp URL, or forces this getter with "ftp::".
func (g *Getter) Detect(r *getter.Request) (bool, error) {
	if r.Forced != "" {
		return r.Forced == "ftp", nil
	}
	scheme, _, ok := strings.Cut(strings.ToLower(r.Src), "://")
	return ok && slices.Contains([]string{"ftp", "ftps", "ftpes"}, scheme), nil
}

// Mode returns ModeDir for a URL that names a directory according to RFC 1738.
func (g *Getter) Mode(_ context.Context, from *url.URL) (getter.Mode, error) {
	u, err := parse(from)
	if err != nil {
		return getter.ModeInvalid, err
	}
	if u.IsDir() {
		return getter.ModeDir, nil
	}
	return getter.ModeFile, nil
}

// GetFile saves a file, whole or not at all. It resumes a part that an earlier call left.
func (g *Getter) GetFile(ctx context.Context, r *getter.Request) error {
	u, err := parse(r.URL())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.Dst), r.Mode(0o755)); err != nil {
		return err
	}
	_, err = download.File(ctx, g.Client, u, r.Dst, &download.Options{Existing: download.Overwrite})
	return err
}

// Get saves a directory with all that it contains, below r.Dst.
func (g *Getter) Get(ctx context.Context, r *getter.Request) error {
	u, err := parse(r.URL())
	if err != nil {
		return err
	}
	if !u.IsDir() {
		u = u.Child("", "") // the caller knows that it is a directory
	}
	if err := os.MkdirAll(r.Dst, r.Mode(0o755)); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Dst)
	if err != nil {
		return err
	}
	defer root.Close()
	var failed []error
	task := download.Task{URLs: []*urlparse.URL{u}, Path: ".", Tree: &download.Tree{}}
	_, err = download.Run(ctx, g.Client, slices.Values([]download.Task{task}), &download.RunOptions{
		Jobs: 4, PerHost: 2, Each: download.Options{Root: root, Existing: download.Newer},
		Events: func(e download.Event) {
			if e.Kind == download.Ended && e.Err != nil {
				failed = append(failed, e.Err)
			}
		},
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(append(failed, err)...)
}

// parse parses the URL as an ftp URL. Package net/url takes "?" for the start of a query, and go-getter takes its own
// parameters (checksum, archive, filename) from the query. The rest of the query would belong to the name, but
// go-getter has sorted and encoded it again ("why?" became "why?=", for example), so parse refuses it. go-getter also
// takes "//" for the start of a subdirectory: write %2F for the root, as RFC 1738 says.
func parse(from *url.URL) (*urlparse.URL, error) {
	if from.Fragment != "" {
		return nil, fmt.Errorf("%s: # cannot stand unencoded in a path: write %%23", from.Redacted())
	}
	if from.RawQuery != "" {
		return nil, fmt.Errorf("%s: go-getter changes a ? in a name: write %%3F", from.Redacted())
	}
	return urlparse.Parse(from.String())
}
