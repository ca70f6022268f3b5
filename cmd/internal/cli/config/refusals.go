package config

import (
	"net/url"
	"path/filepath"
	"slices"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/internal/lazy"
)

// refusal is a contradiction in a command line, and what to write instead.
type refusal struct {
	applies func(*line) bool
	text    string
}

// refusals is the table of contradictions. The messages appear in its order.
var refusals = slices.Concat(refusedOutputs, refusedFiles, refusedTrees, refusedRecords, refusedConnections)

// joined matches URLs with a comma between them.
var joined = lazy.Regexp(`^[a-z]+://.*[^/],(ftp|ftps|ftpes)://`)

// refused returns the messages that apply to the command line.
func (l *line) refused() (texts []string) {
	for _, row := range refusals {
		if row.applies(l) {
			texts = append(texts, row.text)
		}
	}
	return texts
}

// One file, and many.
var refusedOutputs = []refusal{{
	func(l *line) bool { return len(l.Targets) == 0 && l.Print == "" && !l.hasList() },
	"no URL given: write ftpfetch ftp://host/path/file, or -i - to read URLs from standard input",
}, {
	func(l *line) bool { return slices.ContainsFunc(l.operands, joined().MatchString) },
	"several URLs are joined by commas: write blanks between them",
}, {
	func(l *line) bool { return l.Output != "" && l.Reading.KeepDirs && !l.remembers() },
	"-o and --keep-dirs both say what a file is called: drop one",
}, {
	func(l *line) bool {
		named := l.Output != "" && !l.Info && !l.Reading.KeepDirs && !l.listsNewest() && !l.remembers()
		return named && (l.Many || len(l.Targets) > 1 && l.Output != "-")
	},
	"-o is for a single file: use -d DIR to choose where several are saved, or a --manifest to name each",
}, {
	func(l *line) bool {
		alone := l.remembers() && !l.hasList() && !l.Recursive && !l.Glob && !l.Reading.KeepDirs
		several := l.Many && !alone || l.printsSeveral() || len(l.Targets) > 1
		return l.File.Sum.Algorithm != "" && !l.checksOne() && several
	},
	"--checksum checks a single file: list digests in a --manifest, or use --verify",
}, {
	func(l *line) bool {
		return l.Long && l.fetchesMany()
	},
	"-l lists the directories named by URLs: " +
		"drop -i, --manifest, -r, --keep-dirs and -j (-I -r lists a tree)",
}, {
	func(l *line) bool {
		tree := l.Recursive || l.Glob
		return l.Sort != "" && !l.listsNewest() && (l.Many && !l.Info || l.Info && !tree || l.FindsFirst())
	},
	"--sort orders what -l lists, and -I with -r or --glob: add them, or drop --sort",
}, {
	func(l *line) bool {
		return l.JSON && l.fetchesMany() && !l.Info && !l.DryRun
	},
	"--json works with -I, --dry-run, --check and listings: " +
		"add -I, or use --report FILE to record what happened to each file",
}, {
	func(l *line) bool { return l.Report != "" && l.OnlyShows() },
	"-I, -l, --json, --dry-run and --check fetch nothing to report: drop --report",
}, {
	func(l *line) bool { return l.Report == "-" && l.Output == "-" },
	"--report - and -o - cannot both write to standard output: give --report a file",
}, {
	func(l *line) bool {
		return l.Report == "-" && !l.Many && l.Output == "" && !l.OnlyShows() && l.onlyListings()
	},
	"--report - and a listing cannot both write to standard output: give --report a file",
}, {
	func(l *line) bool { return l.Info && (l.Output != "" || l.DryRun) },
	"-I only prints sizes and times: drop -o and --dry-run",
}, {
	func(l *line) bool { return l.Check && (l.Info || l.Long || l.DryRun) },
	"--check, --dry-run, -I and -l print different things: use one",
}, {
	func(l *line) bool {
		changes := l.resume || l.overwrite || l.noClobber || l.Delete || l.Watch != 0
		return l.Check && (changes || l.Once || l.Tree.Newest > 0)
	},
	"--check changes nothing, and compares all files: " +
		"drop -c, --overwrite, --no-clobber, --delete, --watch, --once and --newest",
}}

// A part of a file, and the file here.
var refusedFiles = []refusal{{
	func(l *line) bool {
		several := l.Many && !l.remembers() || len(l.Targets) > 1 || l.printsSeveral()
		checked := l.File.Sum.Algorithm != "" || l.File.Verify
		return l.Range != nil && (several || checked || l.OnlyShows() || l.newer || l.resume ||
			l.Report != "" || l.given("segments"))
	},
	"--range fetches a part of one file: drop -r, -i, --manifest, --glob, -j, -s, -l, -I, --json, --dry-run, " +
		"-N, -c, --checksum, --verify, --report, --keep-dirs and other URLs",
}, {
	func(l *line) bool { return l.Range != nil && !l.Long && !l.FindsFirst() && l.onlyListings() },
	"--range fetches a part of a file, but the URL names a directory: drop --range",
}, {
	func(l *line) bool { return l.Dir != "" && (l.Output == "-" || filepath.IsAbs(l.Output)) },
	"-d cannot be combined with -o - or an absolute path in -o: drop -d",
}, {
	func(l *line) bool { return l.Output == "-" && (l.newer || l.resume) },
	"-N and -c cannot be combined with -o -: standard output has no file to compare with",
}, {
	func(l *line) bool { return l.noClobber && (l.overwrite || l.newer) },
	"--no-clobber cannot be combined with --overwrite or -N: drop one",
}, {
	func(l *line) bool { return l.resume && (l.overwrite || l.noClobber) },
	"-c cannot be combined with --overwrite or --no-clobber: drop one",
}}

// Lists and directories.
var refusedTrees = []refusal{{
	func(l *line) bool {
		return l.Recursive && l.Dir != "" && !l.Reading.KeepDirs && !l.Info && l.trees() > 1
	},
	"-r -d DIR saves what is in one tree: add --keep-dirs=1 to save each tree in DIR/NAME, " +
		"or --keep-dirs for all directories of its URL",
}, {
	func(l *line) bool { return l.Input == "-" && l.Manifest == "-" },
	"-i - and --manifest - cannot both read standard input: save one list as a file",
}, {
	func(l *line) bool { return l.Reading.Map != nil && !l.hasList() },
	"--map needs a table: add --manifest FILE or -i FILE",
}, {
	func(l *line) bool {
		return !l.hasList() && (l.Reading.Format != "" || l.base != "" || l.Reading.Shard.Of != 0)
	},
	"--format, --base and --shard need a list: add -i FILE or --manifest FILE",
}, {
	func(l *line) bool {
		return (l.selects() || l.Tree.FollowLinks) && !l.Long && (l.hasList() || !l.Recursive && !l.Glob)
	},
	"--accept, --reject and --follow-links need a tree: add -r or --glob, and drop -i and --manifest",
}, {
	func(l *line) bool {
		named := func(t Target) bool { return t.Err == nil && t.Pattern == "" && !t.URL.IsDir() }
		return (l.selects() || l.filters()) && l.Glob && !l.Recursive && slices.ContainsFunc(l.Targets, named)
	},
	"filters choose among what a pattern with * matches: write one in each URL, or fetch named files without filters",
}, {
	func(l *line) bool { return l.Tree.Depth != 0 && !l.Recursive },
	"--depth needs a tree: add -r",
}, {
	func(l *line) bool {
		saves := l.newer || l.resume || l.Dir != ""
		return saves && !l.Many && !l.Info && l.Output == "" && l.onlyListings()
	},
	"-d, -N and -c do not apply to listings: add -r to fetch the files, or -o FILE to save the listing",
}, {
	func(l *line) bool {
		tree := l.Recursive && l.newer && !l.hasList()
		return l.Delete && (!tree || l.Glob || l.Info || l.NoLedger || l.Tree.FollowLinks)
	},
	"--delete needs a tree: use -r -N --delete without --glob, --follow-links, --no-ledger, -i, --manifest and -I",
}, {
	func(l *line) bool {
		chooses := l.filters() || l.selects() || l.Tree.FollowLinks
		return chooses && l.Long && !l.Recursive && !l.Glob && !l.hasList()
	},
	"-l lists whole directories: write * after the last / of the URL, in quotes, to list what a filter leaves",
}, {
	func(l *line) bool {
		return (l.Watch != 0 || l.filters() && !l.Long) && (l.hasList() || !l.Recursive && !l.Glob)
	},
	"--watch, --min-age, --newer-than, --min-size and --max-size need a tree: add -r, and drop -i and --manifest",
}, {
	func(l *line) bool {
		return l.Tree.Newest > 0 && (l.hasList() || !l.Recursive && !l.Glob && !l.Long)
	},
	"--newest chooses among the files of a directory: use -r with the URL of one, --glob with a pattern " +
		"such as '*.gz', or -l to list them, and no -i or --manifest",
}, {
	func(l *line) bool { return l.Tree.Newest > 0 && l.Delete },
	"--newest cannot be combined with --delete, because the server still has what --newest leaves out: drop one",
}, {
	func(l *line) bool { return l.Tree.Newest > 0 && l.Long && (l.Output != "" || l.DryRun) },
	"-l with --newest only prints files: drop -o and --dry-run, or -l",
}, {
	func(l *line) bool { return l.Watch != 0 && l.FindsFirst() },
	"--watch saves files under their own names: drop -o",
}, {
	func(l *line) bool {
		return l.Watch != 0 && (l.Info || l.Long || l.DryRun || l.Report != "")
	},
	"--watch runs until it is stopped: drop -I, -l, --dry-run and --report",
}, {
	func(l *line) bool { return !l.Delete && (l.Backup || l.given("max-delete")) },
	"--backup and --max-delete only affect --delete: add --delete",
}}

// What a run remembers of each file, and does with it.
var refusedRecords = []refusal{{
	func(l *line) bool { return l.remembers() && (l.Output != "" || l.Range != nil) },
	"--once and --exec are for files with the names that they have on the server: " +
		"drop -o and --range; -d DIR chooses where they are saved",
}, {
	func(l *line) bool { return l.remembers() && l.NoLedger },
	"--once and --exec need the ledger, which says what was done: drop --no-ledger",
}, {
	func(l *line) bool { return l.Once && l.overwrite },
	"--once and --overwrite contradict each other: -N replaces a file if the server's has changed",
}, {
	func(l *line) bool { return l.Once && (l.Info || l.Long || l.JSON && !l.DryRun) },
	"--once is about what is fetched: drop -I, -l and --json, or use --dry-run to see what it leaves out",
}, {
	func(l *line) bool { return l.Exec != "" && l.OnlyShows() },
	"--exec is for files that are fetched: drop -I, -l, --json and --dry-run",
}, {
	func(l *line) bool { return l.Exec != "" && l.Report == "-" },
	"--exec and --report - cannot both write to standard output: give --report a file",
}}

// Logins and connections.
var refusedConnections = []refusal{{
	func(l *line) bool { return l.PasswordStdin && (l.Input == "-" || l.Manifest == "-") },
	"--password-stdin and a list cannot both read standard input: " +
		"save the list, and use -i FILE or --manifest FILE",
}, {
	func(l *line) bool { return l.PasswordStdin && slices.ContainsFunc(l.Targets, Target.hasPassword) },
	"--password-stdin cannot be combined with a password in the URL: drop one",
}, {
	func(l *line) bool { return l.PasswordStdin && hasPassword(l.User) },
	"--password-stdin cannot be combined with a password in -u: write -u NAME",
}, {
	func(l *line) bool { return l.PasswordStdin && l.User == nil && !l.namesUser() },
	"--password-stdin does not say whose password it is: add -u NAME",
}, {
	func(l *line) bool {
		return l.LimitRate != 0 && l.given("speed-limit") && l.LimitRate < l.Client.MinRate
	},
	"--limit-rate is below --speed-limit, so every transfer would be too slow: " +
		"raise --limit-rate or lower --speed-limit",
}, {
	func(l *line) bool { return l.Key != "" && l.Cert == "" },
	"--key is the private key of a certificate: add --cert FILE",
}, {
	func(l *line) bool { return l.Proxy != nil && l.Client.Active },
	"--mode active does not work through a proxy: drop --mode or --proxy",
}, {
	func(l *line) bool { return l.ProxyGet && l.Client.TryTLS },
	"--proxy get+ cannot be combined with --tls try, because GET is not encrypted: drop one",
}}

// given reports whether the command line, or a variable that stands for the flag, has it.
func (l *line) given(flag string) bool { return l.parser.Changed(flag) }

// selects reports whether files are left out by their names.
func (l *line) selects() bool { return l.Tree.Accept != nil || l.Tree.Reject != nil }

// filters reports whether files are left out by their times or sizes.
func (l *line) filters() bool {
	return l.MaxAge != 0 || l.Since != "" || l.Before != "" || l.Filter != mirror.Filter{}
}

// printsSeveral reports whether the files of a tree or pattern go to standard output.
func (l *line) printsSeveral() bool { return l.FindsFirst() && l.Tree.Newest != 1 }

// fetchesMany reports whether the command takes several files as a list or tree does. With --newest, -l lists what it
// chooses of them, and --check compares them.
func (l *line) fetchesMany() bool { return l.Many && !l.listsNewest() && !l.remembers() && !l.Check }

// checksOne reports whether --check compares one file, which may have a digest.
func (l *line) checksOne() bool {
	return l.Check && len(l.Targets) == 1 && !l.hasList() && !l.Recursive && !l.Glob
}

// trees returns how many of the URLs name directories, or may, whose contents would go into the directory of -d itself.
func (l *line) trees() (n int) {
	for _, t := range l.Targets {
		if t.Err == nil && t.Pattern == "" && !t.Choice {
			n++
		}
	}
	return n
}

// onlyListings reports whether there are URLs, and each names a directory to be listed.
func (l *line) onlyListings() bool {
	fetched := func(t Target) bool { return t.Err != nil || !t.URL.IsDir() && !l.Long }
	return len(l.Targets) > 0 && !slices.ContainsFunc(l.Targets, fetched)
}

// namesUser reports whether there is one URL, which names the user.
func (l *line) namesUser() bool {
	return len(l.Targets) == 1 && (l.Targets[0].Err != nil || l.Targets[0].URL.User != nil)
}

func (t Target) hasPassword() bool { return t.Err == nil && hasPassword(t.URL.User) }

func hasPassword(login *url.Userinfo) bool {
	_, ok := login.Password()
	return ok
}
