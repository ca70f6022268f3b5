// Package interop runs ftpfetch against FTP servers that other people wrote: vsftpd, proftpd, pure-ftpd, pyftpdlib, the
// ftpds of GNU inetutils and Linux NetKit, twisted, aioftp, Globus GridFTP and ftpserverlib, each as a real process on the
// loopback interface. It also measures them for docs/servers.md.
//
// Everything but this comment has the build tag interop, so go test ./... does not need those servers. install.sh fetches
// them; README.md says how each one is set up.
package interop
