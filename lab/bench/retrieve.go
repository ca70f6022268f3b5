package main

import (
	"cmp"
	"io"
	"net"
	"net/url"
	"os"

	"github.com/jlaffaye/ftp"
)

// retrieve fetches a URL as a program with net/url and jlaffaye/ftp does.
func retrieve(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	c, err := ftp.Dial(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "21")))
	if err != nil {
		return err
	}
	password, _ := u.User.Password()
	if u.User == nil {
		password = "anonymous"
	}
	if err := c.Login(cmp.Or(u.User.Username(), "anonymous"), password); err != nil {
		return err
	}
	r, err := c.Retr(u.Path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(os.Stdout, r); err != nil {
		return err
	}
	return r.Close()
}
