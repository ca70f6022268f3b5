package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
)

// flag is a row of the table of flags. A flag has one of on, word and set.
//
// The completions are made from the table, and so are help.txt and the options of docs/ftpfetch.1:
//
//	go test ./cmd/internal/cli/config -run TestGenerated -update
type flag struct {
	name, letter string
	value        string // a placeholder for its value, such as FILE or a|i|d; "" if it takes none
	implied      string // what the flag means without its value; "" if it needs one
	def          string // the default, as people write it; "" if the field's zero value is the default

	on   *bool              // the flag sets it
	word *string            // the flag sets it to one of the words of value; off and auto mean ""
	set  func(string) error // reads the value into the flag's field

	help  string // for --help, the man page and completions; DEFAULT stands for def
	brief string // for -h, which shows the commonest flags
	more  string // sentences that the man page adds to help

	before string // the value that the command line has given it so far, or ""
}

// group is a part of the table, with its title in --help and the man page.
type group struct {
	title string
	flags []*flag
}

// groups is the table of the flags, in the order of --help.
func (l *line) groups() []group {
	return []group{
		{"Saving", l.saving()},
		{"Looking", l.looking()},
		{"Lists", l.listing()},
		{"Directories", l.directories()},
		{"Mirrors", l.mirrors()},
		{"Speed", l.speed()},
		{"Failures", l.failures()},
		{"Login", l.logins()},
		{"Connection", l.connection()},
		{"Messages", l.messages()},
	}
}

func (l *line) saving() []*flag {
	return []*flag{{
		name: "output", letter: "o", value: "FILE", set: into(&l.Output, readName),
		help:  `save as FILE; "-" is standard output`,
		brief: `save as FILE; "-" is standard output`,
	}, {
		name: "dir", letter: "d", value: "DIR", set: into(&l.Dir, readName),
		help:  `save in the directory DIR, made if it is missing`,
		brief: `save in the directory DIR`,
	}, {
		name: "newer", letter: "N", on: &l.newer,
		help:  `replace a file if the server's is newer or of another size`,
		brief: `replace what is newer or of another size there`,
	}, {
		name: "continue", letter: "c", on: &l.resume,
		help: `resume what another program left; what ftpfetch left is resumed without a flag`,
	}, {
		name: "range", value: "A-B", set: into(&l.Range, readRange),
		help: `fetch only the bytes from A to B, counted from 0 (A-: from A on; A-now: to where a
			growing file ends now), and save them as NAME.A-B`,
		more: `0-99 are the first hundred. -o gives them another name, but that of the whole file only
			to 0-now`,
	}, {
		name: "overwrite", on: &l.overwrite,
		help: `replace a file that exists`,
	}, {
		name: "no-clobber", on: &l.noClobber,
		help: `skip a file that exists; that is a success`,
	}}
}

func (l *line) looking() []*flag {
	return []*flag{{
		name: "long", letter: "l", on: &l.Long,
		help:  `list types, sizes, times and links too`,
		brief: `list types, sizes, times and links too`,
		more:  `They are from MLSD, or LIST`,
	}, {
		name: "info", letter: "I", on: &l.Info,
		help:  `print size, time and URL of each file; fetch none`,
		brief: `print size, time and URL of each file; -I -r: of a tree, with the total`,
		more:  `-I -r prints them for a tree, with the total`,
	}, {
		name: "json", on: &l.JSON,
		help: `print one JSON object per line; implies -l`,
	}, {
		name: "sort", value: "name|time|size|none", word: &l.Sort,
		help: `the order of -l (default name): the newest or the largest first, or as the server has it`,
	}, {
		name: "dry-run", on: &l.DryRun,
		help: `print the commands that each URL means, and send nothing; with -r, --glob, -N or a list,
			ask the server, and print what would be done with each file: fetch, replace, leave or delete it`,
		brief: `print what would be done; change nothing`,
		more: `The commands are those of the URL as if it were the only one. What is printed of files has
			sizes, reasons, and the total at the end; -q omits the files that would stay. -j asks the server too. -v
			shows what is sent`,
	}, {
		name: "check", on: &l.Check,
		help: `compare the files in DIR with the server's, and fetch nothing: print each that is missing,
			differs or is extra; code 80 if any is`,
		more: `Sizes and times are compared as -N does, and digests if --verify or the list asks for them. What
			the filters leave out is neither missing nor extra. Lists have no extra files`,
	}}
}

func (l *line) listing() []*flag {
	return []*flag{{
		name: "input", letter: "i", value: "FILE", set: readList(&l.Input),
		help:  `also fetch the URLs in FILE, or in that of an ftp URL; "-" is standard input`,
		brief: `fetch the URLs in FILE`,
		more: `The list has one URL per line, with its digest if you like, in either order, or is a table as for
			--manifest`,
	}, {
		name: "manifest", value: "FILE", set: readList(&l.Manifest),
		help: `also fetch the files in the table FILE and verify them: TSV, CSV, JSON, Metalink, lists
			of archives`,
	}, {
		name: "format", value: "FORM", set: into(&l.Reading.Format, oneOf(manifest.Formats())),
		help: `the form of the list, if it is not recognized: FORMS`,
	}, {
		name: "map", value: "COLUMNS", set: appendTo(&l.Reading.Map, readAny),
		help: `which columns of the table to read, such as url=LINK,md5=SUM, or url=2,md5=1 if it has no
			header; ena:fastq for an ENA report, ncbi:_genomic.gff.gz for an NCBI summary (may be repeated)`,
		more: `ena:fastq reads fastq_ftp, fastq_md5 and fastq_bytes. ncbi:_genomic.gff.gz fetches the files
			with this ending in the directories of the summary`,
	}, {
		name: "base", value: "URL", set: into(&l.base, readName),
		help: `the directory of the files of a list with relative names; ftp:// if the URLs of a list
			lack that`,
		more: `md5checksums.txt is such a list`,
	}, {
		name: "keep-dirs", value: "N", implied: "true", set: l.readKeepDirs,
		help: `save files under the directories of their URLs, with or without a list; =N: under the last N`,
		more: `That also goes for the URLs of the command line, and for trees: -r -d DIR --keep-dirs=1 saves each
			tree under its own name, in DIR/NAME`,
	}, {
		name: "shard", value: "I/N", set: into(&l.Reading.Shard, readShard),
		help: `fetch only share I/N of the list, from 1/N to N/N`,
	}, {
		name: "report", value: "FILE", set: into(&l.Report, readName),
		help: `write what happened to each file to FILE: a table if it ends in .tsv or .csv, else JSON
			("-": on stdout)`,
	}, {
		name: "once", on: &l.Once,
		help: `do not fetch again what the ledger says was fetched, even if it was moved away; only what has
			another size or time on the server now`,
		more: `With --verify, only files that were verified count. What the server does not tell counts as
			unchanged. The last line says how many files were left out`,
	}, {
		name: "exec", value: "COMMAND", set: into(&l.Exec, readCommand),
		help: `run COMMAND by sh for each file that has its name, with the path as "$1"; if it fails, so does
			the file (code 123), and the same ftpfetch runs it again for that file`,
		more: `FTPFETCH_URL, FTPFETCH_SIZE, FTPFETCH_TIME, FTPFETCH_SUM and FTPFETCH_VERIFIED say what the file
			is. As many commands run at once as -j says. The same ftpfetch also runs COMMAND for the files whose
			command a killed run did not finish. If such a file is gone, it is fetched again, even with --once`,
	}, {
		name: "no-ledger", on: &l.NoLedger,
		help: `keep no record of complete files for the next run`,
		more: `Nor is the record of an earlier run read`,
	}}
}

func (l *line) directories() []*flag {
	return []*flag{{
		name: "recursive", letter: "r", on: &l.Recursive,
		help: `fetch a directory with everything in it: into the directory of -d, or else under its own
			name; --keep-dirs=1: as DIR/NAME, one or several`,
		brief: `fetch a directory with everything in it`,
	}, {
		name: "glob", on: &l.Glob,
		help: `take *, ?, [a-z], [1-20] and {a,b} in URLs as patterns of names, {2026-11-01..2026-11-26} as days`,
	}, {
		name: "accept", value: "GLOB", set: appendTo(&l.Tree.Accept, readGlob("accept")),
		help: `with -r or --glob, fetch only files that match GLOB (may be repeated)`,
	}, {
		name: "reject", value: "GLOB", set: appendTo(&l.Tree.Reject, readGlob("reject")),
		help: `with -r or --glob, leave out files and directories that match GLOB (may be repeated):
			'*.tmp' at every level, /obs or obs/26 from the top of the tree, 22/ directories only`,
		more: `For --accept and --reject, a pattern without "/" matches names at every level. One with "/" at
			its start or in the middle matches the path below the top of the tree, with ** for any number of
			directories. One that ends in "/" matches directories and everything in them. ftpfetch warns if a
			pattern matches nothing`,
	}, {
		name: "depth", value: "N", set: into(&l.Tree.Depth, whole(1, 0)),
		help: `with -r, list only N levels of directories`,
	}, {
		name: "follow-links", on: &l.Tree.FollowLinks,
		help: `with -r or --glob, fetch what links lead to inside the directory`,
	}, {
		name: "newest", value: "N", set: into(&l.Tree.Newest, whole(1, 0)),
		help: `with -r or --glob, fetch only the N newest files of what matches, by the server's times, for
			each URL; -l lists those of a directory; 1 works with -o FILE and -o -`,
		more: `The other filters apply before. Of files of the same time, the last by name counts as the
			newest. The server is asked for times (MDTM) only if those of the listing do not decide. {a,b},
			[1-20] and {2026-11-01..2026-11-26} in URLs are patterns then, of which not all must exist`,
	}, {
		name: "min-age", value: "TIME", set: l.readMinAge,
		help: `leave out files that changed less than TIME ago: they may still be written; or since TIME, as
			with --newer-than: today leaves out what changed today`,
		more: `A file whose time is unknown is left out too`,
	}, {
		name: "newer-than", value: "TIME", set: l.readNewer,
		help: `leave out files that have not changed since TIME: 1h or 7d (ago), today or yesterday (0:00 UTC),
			2026-11-28, 2026-11-28T12:00 (UTC), or a file's time`,
		more: `The times of RFC 3339 are understood too, and ./today is a file's name`,
	}, {
		name: "min-size", value: "SIZE", set: into(&l.MinSize, ReadSize),
		help: `leave out files of less than SIZE bytes`,
		more: `A file whose size the listing does not tell is fetched`,
	}, {
		name: "max-size", value: "SIZE", set: into(&l.MaxSize, ReadSize),
		help: `leave out files of more than SIZE bytes (100K, 1.5M, 2G are binary)`,
		more: `A file whose size the listing does not tell is fetched`,
	}}
}

func (l *line) mirrors() []*flag {
	return []*flag{{
		name: "delete", value: "excluded", implied: "true", set: l.readDelete,
		help: `with -r -N, delete what was fetched from a tree that the server no longer has; =excluded:
			and what --accept, --reject, --depth, --min-size and --max-size leave out`,
		more: `ftpfetch must have listed the whole tree, and have all of it. It deletes a file only if a
			ledger has it, it has not changed, and the server says that it does not exist`,
	}, {
		name: "max-delete", value: "N", def: "100",
		set: into(&l.MaxDelete, or("all", math.MaxInt, whole(0, 0))),
		help: `delete nothing if more than N files would go (default DEFAULT); all: any number, even of a
			tree of which the server has no file any more`,
		more: `Such a tree is an error otherwise`,
	}, {
		name: "backup", on: &l.Backup,
		help: `move what is deleted to .ftpfetch-trash instead`,
	}, {
		name: "watch", value: "TIME", set: into(&l.Watch, readTime),
		help: `look again after TIME, until a signal ends it, and fetch what is new; one line for each look`,
		more: `The connection stays open. -q omits the line unless something failed. The exit code is that
			of the signal (130, 143). A refused login ends the run, with code 67. A second run with --watch or
			--delete, or with -r, -N and -d, to the same directory ends at once with code 75, and so does one
			with -r and -d beside such a run`,
	}}
}

func (l *line) speed() []*flag {
	return []*flag{{
		name: "jobs", letter: "j", value: "N", def: strconv.Itoa(defaultJobs),
		set: into(&l.Jobs, or("auto", 0, whole(1, MostJobs))),
		help: `fetch N files at once, or auto, for lists and trees (default DEFAULT), and for several URLs
			if given`,
		brief: `use N connections at once`,
		more:  `With auto, the run finds the number`,
	}, {
		name: "per-host", value: "N", set: into(&l.PerHost, whole(1, MostJobs)),
		help: `use at most N connections to one server (default: as -j and -s say); a server that refuses
			one gets fewer from then on`,
		more: `This also goes for a single file with -s`,
	}, {
		name: "shared", on: &l.Shared,
		help: `count --per-host over all runs of this user on this machine that have this flag`,
		more: `A run that waits says for which processes`,
	}, {
		name: "segments", letter: "s", value: "N", def: "1",
		set:  into(&l.File.Segments, or("auto", download.AutoSegments, whole(1, 64))),
		help: `fetch a file over N connections, at most 64, or auto: as many as make it faster`,
		more: `They share the work by their speeds. auto tries up to 16. The default is DEFAULT`,
	}, {
		name: "limit-rate", value: "RATE", set: into(&l.LimitRate, ReadSize),
		help: `receive at most RATE bytes a second in total (500K, 2M, 1G are binary)`,
	}}
}

func (l *line) failures() []*flag {
	retries := strconv.Itoa(retry.Count(0)) // if the flag is not given
	return []*flag{{
		name: "retries", value: "N", set: l.readRetries,
		help: `retry what may pass up to N times without progress (default ` + retries + `); if given, also
			a server that cannot be reached`,
	}, {
		name: "connect-timeout", value: "TIME", def: brief(ftpexec.DefaultConnectTimeout),
		set:  into(&l.Client.ConnectTimeout, readTime),
		help: `give up connecting after TIME (3s, 2m; default DEFAULT)`,
	}, {
		name: "timeout", value: "TIME", def: brief(ftpexec.DefaultTimeout),
		set:  into(&l.Client.Timeout, readTime),
		help: `give up after TIME without a reply or a byte of data (default DEFAULT)`,
	}, {
		name: "max-time", value: "TIME", set: into(&l.MaxTime, readTime),
		help: `give up on a URL after TIME, with all its retries`,
	}, {
		name: "speed-limit", letter: "Y", value: "RATE", set: l.readPace,
		def: fmt.Sprint(ftpexec.DefaultMinRate, "/", brief(ftpexec.DefaultMinRateTime)),
		help: `give up if a connection brings fewer than RATE bytes a second for 30 seconds (10K/2m: for two
			minutes; default DEFAULT; 0: never)`,
	}, {
		name: "checksum", value: "ALGO:HEX", set: into(&l.File.Sum, digest.Parse),
		help: `fail unless the file has this digest, as ALGO:HEX (sha512, blake2b, sha256, sha1, md5, crc32)`,
	}, {
		name: "verify", on: &l.File.Verify,
		help:  `fail unless the file has the digest in a list beside it, or that of the server`,
		brief: `compare the digest in a list beside the file`,
	}}
}

func (l *line) logins() []*flag {
	return []*flag{{
		name: "user", letter: "u", value: "NAME[:PASSWORD]", set: into(&l.User, readLogin),
		help:  `log in as NAME[:PASSWORD] if the URL names no user`,
		brief: `log in as NAME`,
	}, {
		name: "password-stdin", on: &l.PasswordStdin,
		help: `read the password, one line, from standard input, or ask for it at a terminal`,
	}, {
		name: "netrc", letter: "n", value: "FILE", implied: UsualNetrc, set: into(&l.Netrc, readName),
		help: `take the user too from ~/.netrc, or from FILE, if the URL names none; =none ignores the
			netrc file`,
		more: `-n is an error for a tree if the file has no user for the server: it is a dry run in other programs`,
	}}
}

func (l *line) connection() []*flag {
	return []*flag{{
		name: "tls", value: "off|try|explicit|implicit", word: &l.TLS,
		help: `TLS for ftp:// URLs; try goes on unencrypted if the server has none`,
	}, {
		name: "cacert", value: "FILE", set: into(&l.CACert, readName),
		help: `trust only the authorities in the PEM FILE, and a server's own certificate there, whatever
			its names and times`,
		more: `For one device this is what to use in place of --insecure. This command writes its certificate;
			compare that with what the device shows: openssl s_client -starttls ftp -connect HOST:21 </dev/null |
			openssl x509 >FILE`,
	}, {
		name: "cert", value: "FILE", set: into(&l.Cert, readName),
		help: `show the server the certificate in the PEM FILE, with its private key`,
	}, {
		name: "key", value: "FILE", set: into(&l.Key, readName),
		help: `the private key of --cert, if it is in a PEM FILE of its own`,
	}, {
		name: "insecure", on: &l.Insecure,
		help: `accept any certificate: anyone could pose as the server`,
	}, {
		name: "proxy", value: "URL", set: into(&l.Proxy, l.readProxy),
		help: `use the proxy URL, socks5:// or http://, for all hosts; get+http:// has it fetch files itself,
			and gives it the passwords for servers; none ignores the variables`,
		more: `http:// may be left out`,
	}, {
		name: "mode", value: "passive|pasv|pasv-host|active", word: &l.mode,
		help: `who opens data connections: the client, without EPSV, to whatever host a trusted server names
			(pasv-host), or the server`,
		more: `passive means the client, pasv the client without EPSV, active the server. pasv-host is only
			for a trusted server, which can name any host`,
	}, {
		name: "type", value: "a|i|d|guess", word: &l.Type,
		help: `the transfer type if the URL has no ;type=`,
	}, {
		name: "charset", word: &l.Charset,
		value: "latin1|latin2|latin9|cp437|cp850|cp1251|cp1252|koi8-r",
		help:  `the names on the server are in this charset: show, save and match them in UTF-8`,
		more: `URLs are read as UTF-8 (or octet by octet, as %E9), and each name is sent octet for octet. URLs
			in lists, reports and JSON that ftpfetch writes are in UTF-8 too: read them with the same flag`,
	}, {
		name: "ip", value: "4|6|ADDR", set: into(&l.IP, readIP),
		help: `use only IPv4 or IPv6, or connect from the address ADDR of this machine`,
	}}
}

func (l *line) messages() []*flag {
	return []*flag{{
		name: "verbose", letter: "v", on: &l.Verbose,
		help: `show the dialogue: < is received, > is sent, >> is sent with the line before, without a
			wait`,
		brief: `show all that is sent and received`,
	}, {
		name: "quiet", letter: "q", on: &l.Quiet,
		help:  `show no progress, only errors and warnings`,
		brief: `show only errors and warnings`,
	}, {
		name: "progress", value: "auto|bar|plain|json|none", word: (*string)(&l.Progress),
		help: `how transfers are shown; auto: bar on a terminal, else plain`,
	}, {
		name: "version", implied: "true", set: func(string) error { l.Print = "version"; return nil },
		help: `print the version`,
	}, {
		name: "help", letter: "h", value: pages, implied: "help", set: into(&l.Print, readPage),
		help: `print this help, or with -h its beginning; the man page, or the completion for a shell;
			-l -h prints sizes such as 19.5 KiB`,
		more: `The completion completes names on servers too, after ftp://host/. It keeps the names of a
			directory for a minute in the user's cache directory`,
	}}
}

// pages are what --help prints besides the help.
const pages = "man|bash|zsh|fish"

// declare makes the flags, and gives their fields the defaults.
func (l *line) declare() {
	l.parser = pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, g := range l.groups() {
		l.flags = append(l.flags, g.flags...)
	}
	for _, f := range l.flags {
		if f.bare() {
			l.parser.BoolFuncP(f.name, f.letter, f.help, f.read)
		} else {
			l.parser.FuncP(f.name, f.letter, f.help, f.read)
		}
		if f.def != "" {
			_ = f.read(f.def) // cannot fail: see TestDefaults
		}
	}
}

// bare reports whether the flag works without a value.
func (f *flag) bare() bool { return f.on != nil || f.implied != "" }

// read reads the flag's value into its field.
func (f *flag) read(s string) (err error) {
	switch {
	case f.on != nil:
		if *f.on, err = strconv.ParseBool(s); err != nil {
			err = fmt.Errorf("write --%s or --%s=false", f.name, f.name)
		}
		return err
	case f.word != nil:
		return into(f.word, oneOf(f.words()))(s)
	}
	return f.set(s)
}

// fill returns a text of the table as one line, with the default in it.
func (f *flag) fill(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "DEFAULT", f.def)), " ")
}

// words returns the words that the value may be.
func (f *flag) words() []string { return strings.Split(f.value, "|") }

// String returns the shortest spelling of the flag.
func (f *flag) String() string {
	if f.letter != "" {
		return "-" + f.letter
	}
	return "--" + f.name
}

// lookup returns the flag with a spelling, which includes the dashes, or nil.
func (l *line) lookup(spelling string) *flag {
	i := slices.IndexFunc(l.flags, func(f *flag) bool {
		return spelling == "--"+f.name || f.letter != "" && spelling == "-"+f.letter
	})
	if i < 0 {
		return nil
	}
	return l.flags[i]
}
