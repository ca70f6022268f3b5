package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/jlaffaye/ftp"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop"
)

// smallFiles is how many small files a connection retrieves in the row of small files of the table "library".
const smallFiles = 2000

// serveSmall starts a vsftpd that has the small files.
func serveSmall(ctx context.Context, b *bench) (addr, name string, end func() error, err error) {
	for i := range smallFiles {
		if _, err := b.file(smallFile(i), small); err != nil {
			return "", "", nil, err
		}
	}
	s, err := interop.Start(ctx, interop.Vsftpd, b.tree, interop.Options{})
	if err != nil {
		return "", "", nil, err
	}
	version, _ := interop.Version(string(interop.Vsftpd)) // without a version, the name stands alone
	return s.Addr, "vsftpd " + version, s.Close, nil
}

func smallFile(i int) string { return fmt.Sprintf("small/f%04d", i) }

// ourSmall returns a function that retrieves the small files with package ftpexec, on one connection.
func ourSmall(ctx context.Context, addr string) (once func() error, err error) {
	c := new(ftpexec.Client)
	return func() error {
		for i := range smallFiles {
			r, err := c.Get(ctx, "ftp://"+addr+"/"+smallFile(i))
			if err == nil {
				err = drain(r.Body)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// theirSmall returns a function that retrieves the same with jlaffaye/ftp, on one connection.
func theirSmall(_ context.Context, addr string) (once func() error, err error) {
	c, err := ftp.Dial(addr)
	if err == nil {
		err = c.Login("anonymous", "anonymous")
	}
	if err == nil {
		err = c.ChangeDir(path.Dir(smallFile(0))) // as for the URLs, once
	}
	return func() error {
		for i := range smallFiles {
			r, err := c.Retr(path.Base(smallFile(i)))
			if err == nil {
				err = drain(r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, err
}

// drain reads a small file and closes it.
func drain(body io.ReadCloser) error {
	n, err := io.Copy(io.Discard, body)
	if err == nil && n != small {
		err = fmt.Errorf("%d bytes, want %d", n, small)
	}
	return errors.Join(err, body.Close())
}
