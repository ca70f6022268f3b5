package config

import (
	"strings"

	"example.com/ftpfetch/docs"
)

// The help text and the man page share these texts. In description an empty line
// separates paragraphs; in examples each line is a command.
const (
	summary     = "retrieve what ftp URLs name, exactly as RFC 1738 says"
	description = `
ftpfetch saves a file in the current directory under the last segment of its
URL. It replaces an existing file only if told to. A URL that ends in "/" or
";type=d" names a directory, whose listing goes to standard output. Lists,
manifests and trees are fetched over several connections; the same command
fetches what is missing later. The schemes are ftp, ftps (implicit TLS)
and ftpes (explicit TLS). Flags may come before or after URLs.
`
	// environment is one line of the help text; the man page says more.
	environment = "ftp_proxy, all_proxy, no_proxy (or in capitals), NETRC: see ftpfetch --print man."
	examples    = `
  ftpfetch ftp://ftp.example.org/pub/README
  ftpfetch -d /tmp ftp://ftp.example.org/pub/a.zip ftp://ftp.example.org/pub/b.zip
  ftpfetch -o - ftp://ftp.example.org/pub/data.gz | gzip -d
  ftpfetch 'ftp://ftp.example.org/pub;type=d'
  ftpfetch --manifest report.tsv -d data --report done.tsv
  ftpfetch -r -N -d mirror ftp://ftp.example.org/pub/
  ftpfetch --dry-run 'ftp://host.dom/%2Fetc/motd'
`
)

// Text returns what [Config.Print] asks for. exits is the list of exit codes.
func Text(print, exits string) string {
	switch print {
	case "help":
		return help(exits)
	case "version":
		return version()
	case "man":
		return docs.Man
	}
	return completion(print)
}

func help(exits string) string {
	var b strings.Builder
	b.WriteString("ftpfetch: " + summary + "\n\nUsage:\n  ftpfetch [flags] URL...\n" + description)
	for _, g := range new(line).groups() {
		b.WriteString("\n" + g.title + ":\n" + g.FlagUsagesWrapped(80))
	}
	b.WriteString("\nExit codes:\n" + exits + "ftpfetch tries all URLs; the code is that of the first failure.\n\nEnvironment:\n" + environment + "\n\nExamples:" + examples)
	return b.String()
}
