package cli

import (
	"runtime/debug"
	"strings"
)

const helpHead = `ftpfetch retrieves what ftp URLs name, exactly as RFC 1738 says.

Usage:
  ftpfetch [flags] URL...

A file is saved under the URL's last segment in the current directory and never
replaces another one unless told to. A URL that ends in "/" or ";type=d" names
a directory, whose listing goes to standard output. ftp, ftps (implicit TLS) and
ftpes (explicit TLS) URLs are understood. Flags stand before or behind URLs.
`

const helpTail = `
Exit codes:
    0  done                                 28  timed out
    1  unsupported scheme                   30  active mode refused
    2  bad usage                            35  TLS handshake failed
    3  malformed URL                        56  connection lost
    6  host not resolved                    60  certificate not trusted
    7  no connection                        64  TLS wanted and not to be had
    8  a reply that makes no sense          67  login refused, or no password
    9  access denied (CWD refused)          78  no such file
   13  unusable answer to EPSV or PASV     129  ended by SIGHUP
   17  TYPE refused                        130  interrupted (SIGINT)
   18  transfer incomplete                 141  standard output was closed
   19  refused for another cause           143  ended by SIGTERM
   23  local write error, or file exists
With several URLs all are tried, and the code is that of the first failure.

Examples:
  ftpfetch ftp://ftp.example.org/pub/README
  ftpfetch -d /tmp ftp://ftp.example.org/pub/a.zip ftp://ftp.example.org/pub/b.zip
  ftpfetch -o - ftp://ftp.example.org/pub/data.gz | gzip -d
  ftpfetch 'ftp://ftp.example.org/pub;type=d'
  ftpfetch --dry-run 'ftp://host.dom/%2Fetc/motd'
`

// helpText is what --help prints.
func helpText() string {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, g := range new(options).groups() {
		b.WriteString("\n" + g.title + ":\n" + g.FlagUsagesWrapped(80))
	}
	b.WriteString(helpTail)
	return b.String()
}

// versionText is what --version prints.
func versionText() string {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return "ftpfetch " + version + "\n"
}
