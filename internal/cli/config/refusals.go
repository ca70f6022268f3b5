package config

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// refusal is what a command line must not say together: whether it does, and what to write instead.
type refusal struct {
	says bool
	text string
}

func (l *line) refusals() []refusal {
	one := len(l.Targets) == 1 && (l.Targets[0].Err != nil || l.Targets[0].URL.User != nil) // whose login is known
	return []refusal{
		{len(l.Targets) == 0 && !l.lists() && l.Print == "",
			"no URL given: write ftpfetch ftp://host/path/file, or -i - to read URLs from standard input"},
		// One file, and many
		{l.Output != "" && !l.Info && (l.Many || l.Output != "-" && len(l.Targets) > 1),
			"-o names one file: write -d DIR to choose the directory"},
		{l.File.Sum.Algorithm != "" && (l.Many || len(l.Targets) > 1),
			"--checksum is for one file: give digests in a --manifest, or use --verify"},
		{l.Long && l.Many,
			"-l lists directories: write their URLs, and leave out -i, --manifest, -r, --glob and -j (-I -r lists a tree)"},
		{l.JSON && l.Many && !l.Info,
			"--json is for -I and for listings: write -I too, or --report FILE for what happened to each file"},
		{l.Report != "" && !l.Many,
			"--report is for many files: write -i, --manifest, -r, --glob or -j too"},
		{l.Report != "" && (l.Info || l.DryRun),
			"-I and --dry-run fetch nothing: leave out --report"},
		{l.Info && (l.Output != "" || l.DryRun),
			"-I prints what servers tell about files: leave out -o and --dry-run"},
		// The file here
		{l.Dir != "" && (l.Output == "-" || filepath.IsAbs(l.Output)),
			"-d contradicts -o - and an -o that begins at the root: leave out -d"},
		{l.Output == "-" && (l.File.Newer || l.File.Continue),
			"-o - and -N or -c contradict each other: standard output has no file to compare with"},
		{l.File.Skip && (l.File.Overwrite || l.File.Newer),
			"--no-clobber contradicts --overwrite and -N: leave one out"},
		{l.File.Continue && (l.File.Overwrite || l.File.Skip),
			"-c contradicts --overwrite and --no-clobber: leave one out"},
		// Lists and directories
		{l.Input == "-" && l.Manifest == "-",
			"-i - and --manifest - contradict each other: there is one standard input"},
		{len(l.Reading.Map) > 0 && l.Manifest == "",
			"--map is for a table: write --manifest FILE too"},
		{!l.lists() && (l.Reading.Format != "" || l.base != "" || l.Reading.KeepDirs || l.Reading.Shard[1] != 0),
			"--format, --base, --keep-dirs and --shard are for a list: write -i FILE or --manifest FILE too"},
		{l.DryRun && (strings.Contains(l.Input, "://") || strings.Contains(l.Manifest, "://")),
			"--dry-run sends nothing, but the list is on a server: save it, and write -i FILE or --manifest FILE"},
		{!l.Recursive && !l.Glob && (l.Tree.Accept != nil || l.Tree.Reject != nil || l.Tree.FollowLinks),
			"--accept, --reject and --follow-links are for directories: write -r or --glob too"},
		{l.Tree.Depth > 0 && !l.Recursive,
			"--depth is for trees: write -r too"},
		{!l.Many && !l.Long && !l.Info && l.Output == "" && (l.File.Newer || l.File.Continue) && len(l.Targets) > 0 &&
			!slices.ContainsFunc(l.Targets, func(t Target) bool { return t.Err != nil || !t.URL.IsDir() }),
			"-N and -c are for files: write -r for those in a directory"},
		{l.Delete && (!l.Recursive || l.Glob || l.lists() || !l.File.Newer || l.Info || l.NoLedger || l.Tree.Accept != nil || l.Tree.Reject != nil || l.Tree.Depth > 0 || l.Tree.FollowLinks),
			"--delete is for whole trees: write -r -N --delete, and leave out --accept, --reject, --depth, --glob, --follow-links, --no-ledger, -i, --manifest and -I"},
		{(l.Watch > 0 || l.MinAge > 0 || !l.NewerThan.IsZero()) && (!l.Recursive && !l.Glob || l.lists()),
			"--watch, --min-age and --newer-than are for directories: write -r too, and leave out -i and --manifest"},
		{l.Watch > 0 && (l.Info || l.DryRun || l.Report != ""),
			"--watch fetches again and again: leave out -I, --dry-run and --report"},
		{!l.Delete && (l.Backup || l.MaxDelete != 0),
			"--backup and --max-delete are for what --delete deletes: write --delete too"},
		// Logins and connections
		{l.PasswordStdin && (l.Input == "-" || l.Manifest == "-"),
			"--password-stdin and a list on standard input contradict each other: write -i FILE or --manifest FILE"},
		{l.PasswordStdin && slices.ContainsFunc(l.Targets, func(t Target) bool { return t.Err == nil && hasPassword(t.URL.User) }),
			"--password-stdin and a password in the URL contradict each other: leave one out"},
		{l.PasswordStdin && hasPassword(l.User),
			"--password-stdin and a password in -u contradict each other: write -u NAME"},
		{l.PasswordStdin && l.User == nil && !one,
			"--password-stdin: whose password is it? write -u NAME"},
		{l.LimitRate != 0 && l.LimitRate < l.Client.MinRate.Bytes,
			"--limit-rate is less than --speed-limit: no server could be fast enough; raise the first or lower the second"},
		{l.Proxy != nil && l.mode == "active",
			"--mode active does not work through a proxy: leave out --mode or --proxy"},
		{l.ProxyGet && l.TLS == "try",
			"--proxy get+ and --tls try contradict each other: by GET nothing is encrypted; leave one out"},
	}
}

func hasPassword(login *url.Userinfo) bool {
	_, ok := login.Password()
	return ok
}

func (l *line) refused() (texts []string) {
	for _, r := range l.refusals() {
		if r.says {
			texts = append(texts, r.text)
		}
	}
	return texts
}
