// Package config reads the command line of ftpfetch. [Parse] returns a [Config], or everything that is wrong with the
// line and the command as it should be.
package config

import (
	"net/url"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// Config is what a command line asks for, parsed and checked. It is a plain value.
type Config struct {
	Print string // what to print in place of a run: help, short (help), version, man, bash, zsh or fish; "" for a run

	// What to retrieve.
	Targets         []Target
	Input, Manifest string           // lists; "-" is standard input
	Reading         manifest.Options // of lists
	Recursive, Glob bool
	Tree            batch.Tree // what is wanted of a directory
	Type            string     // a, i, d or guess, for URLs without a typecode

	// What to do with it.
	Info, Long, JSON, DryRun bool
	Human                    bool   // sizes for people
	Sort                     string // name, time, size or none; "" is name for -l
	Output, Dir, Report      string
	File                     download.Options // of each file
	Many                     bool             // several files at once
	Jobs, PerHost            int              // connections, in all and to one server; 0 Jobs: to be found
	MaxTime                  time.Duration    // for a URL with its retries; 0: no limit
	LimitRate                int64            // bytes a second; 0: no limit
	NoLedger, NoSandbox      bool

	// How to connect. The run sets Credentials, Dial, Proxy, Trace and TLSConfig.
	Client       ftpexec.Client
	IP           string // 4, 6, or an address of this machine to connect from; "" for any
	TLS          string // try, explicit, implicit or "": for ftp URLs; the others ask for TLS themselves
	CACert, Cert string // files
	Insecure     bool
	Proxy        *proxy.Proxy // that of --proxy, for all hosts; nil if it names none
	ProxyGet     bool         // it fetches files itself
	NoProxy      bool         // --proxy none: not even one of the environment

	// Who logs in.
	User                 *url.Userinfo // of -u
	PasswordStdin        bool
	StdinUser, StdinHost string // whom standard input's password is for; no host means all
	Netrc                string // a file, [UsualNetrc], [NoNetrc], or "": the usual one, but only for passwords

	// What is shown.
	Verbose, Quiet bool
	Progress       string // bar, plain, json, none, or "": bar on a terminal, else plain
}

// MostJobs is the largest number of connections that makes sense.
const MostJobs = 64

// What Netrc says besides a file.
const (
	UsualNetrc = "~/.netrc"
	NoNetrc    = "none"
)

// Target is a URL of the command line.
type Target struct {
	URL     *urlparse.URL // nil if Err is set
	Pattern string        // of paths below the directory URL; "" if there is none
	Under   []string      // the directories of URL that patterns chose: it is saved in such
	Err     error         // why the text is not a URL
}
