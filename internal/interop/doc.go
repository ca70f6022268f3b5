// Package interop runs ftpfetch against FTP servers that other people wrote:
// vsftpd, proftpd, pure-ftpd, pyftpdlib and the ftpd of GNU inetutils, each as
// a real process on the loopback interface.
//
// Everything but this comment has the build tag interop, so go test ./... does
// not need those servers. install.sh fetches them; README.md says how each one
// is set up.
package interop
