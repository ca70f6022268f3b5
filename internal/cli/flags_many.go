package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
)

// manyOptions holds the flags about many files.
type manyOptions struct {
	recursive, glob, divide bool
	input, manifest, report string
	tree                    batch.Tree
	reading                 manifest.Options
	base                    string
	jobs, perHost           int  // 0 jobs: found by trying
	together                bool // -j was given
}

// The defaults of -j and --per-host.
const (
	defaultJobs    = 4
	defaultPerHost = 2
)

func (o *options) selectionFlags() group {
	fs := newGroup("Selection")
	into(fs, &o.input, "input", "i", "also fetch the URLs in `FILE`, one per line or as <URL:...> in text; \"-\" is standard input",
		once(), verbatim)
	into(fs, &o.manifest, "manifest", "", "also fetch the files in the table `FILE` (TSV, CSV, NDJSON, an ENA or NCBI report), and verify them",
		once(), verbatim)
	into(fs, &o.reading.Format, "format", "", "the `FORM` of the list: list, text, tsv, csv, ndjson, json, ncbi or sums (default: recognized by its beginning)",
		readFormat, func(f manifest.Format) string { return string(f) })
	fs.StringArrayVar(&o.reading.Columns, "columns", nil, "of an ENA report, fetch only the files of the columns `NAME`_ftp (may be repeated)")
	fs.StringArrayVar(&o.reading.Suffixes, "suffix", nil, "of an NCBI summary, fetch the files that end in `TEXT` (may be repeated)")
	fs.StringVar(&o.base, "base", "", "of a list of digests such as md5checksums.txt, fetch the files from the directory `URL`")
	fs.BoolVar(&o.reading.KeepDirs, "keep-dirs", false, "save the files of a list under the directories of their URLs")
	into(fs, &o.reading.Shard, "shard", "", "fetch only share `I/N` of a list, from 1/N to N/N; auto takes I (and N, or auto/N) from Slurm, Kubernetes or AWS Batch",
		func(s string) (manifest.Shard, error) { return manifest.ParseShard(s, os.Getenv) }, showShard)
	fs.BoolVarP(&o.recursive, "recursive", "r", false, "fetch the directories that URLs name, with everything in them")
	into(fs, &o.tree.Depth, "depth", "", "with -r, list only `N` levels of directories", whole(1, 0), showCount)
	fs.StringArrayVar(&o.tree.Accept, "accept", nil, "with -r or --glob, fetch only files that match `GLOB` (may be repeated)")
	fs.StringArrayVar(&o.tree.Reject, "reject", nil, "with -r or --glob, leave out files and directories that match `GLOB` (may be repeated)")
	fs.BoolVar(&o.tree.FollowLinks, "follow-links", false, "with -r or --glob, fetch what symbolic links lead to inside the directory")
	fs.BoolVar(&o.glob, "glob", false, "take *, ?, [a-z] and {a,b} in the last segment of a URL as a pattern of names")
	o.jobs = defaultJobs
	into(fs, &o.jobs, "jobs", "j", "use `N` connections at once (auto: find the number) for lists and trees, and for several URLs if given",
		readJobs, showJobs)
	into(fs, &o.perHost, "per-host", "", "use at most `N` connections to one server (default: as many as -j says, 2 without -j)", whole(1, batch.MaxJobs), showCount)
	fs.BoolVar(&o.divide, "per-host-shared", false, "divide --per-host among the shards")
	fs.StringVar(&o.report, "report", "", "write what happened to each file to `FILE`, one JSON object per line, or a table if it ends in .tsv")
	return fs
}

// once returns what reads the name of a list. The second of two lists would
// silently replace the first.
func once() func(string) (string, error) {
	given := false
	return func(s string) (string, error) {
		if given {
			return "", errors.New("is a second list: join them into one")
		}
		given = true
		return s, nil
	}
}

func verbatim(s string) string { return s }

func readFormat(s string) (manifest.Format, error) {
	if f := manifest.Format(s); slices.Contains(manifest.Formats(), f) {
		return f, nil
	}
	return "", errors.New("write list, text, tsv, csv, ndjson, json, ncbi or sums")
}

func readJobs(s string) (int, error) {
	if s == "auto" {
		return 0, nil
	}
	n, err := whole(1, batch.MaxJobs)(s)
	if err != nil {
		return 0, fmt.Errorf("%w, or auto", err)
	}
	return n, nil
}

func showJobs(n int) string {
	if n == 0 {
		return "auto"
	}
	return strconv.Itoa(n)
}

// showCount returns n, or "" for 0, which means no limit.
func showCount(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func showShard(s manifest.Shard) string {
	if s.Count == 0 {
		return ""
	}
	return s.String()
}

// many reports whether the run may fetch several files at once.
func (o *options) many() bool {
	return o.input != "" || o.manifest != "" || o.recursive || o.glob || o.together && len(o.targets) > 1
}

// checkMany refuses flags that do not fit together, and sets what follows from
// them.
func (o *options) checkMany(all *pflag.FlagSet) error {
	o.reading.Parser.AllowPort = o.allowPort
	o.together = all.Changed("jobs")
	if o.base != "" {
		base, err := o.reading.Parser.Parse(strings.TrimSuffix(o.base, "/") + "/")
		if err != nil {
			return fmt.Errorf("--base: %w", err)
		}
		o.reading.Base = base
	}
	if err := cmp.Or(o.checkLists(all), o.checkPurpose(all), o.checkPatterns(all)); err != nil {
		return err
	}
	switch {
	case o.perHost != 0 || o.jobs == 0:
	case o.together:
		o.perHost = o.jobs
	default:
		o.perHost = defaultPerHost
	}
	if o.divide {
		o.perHost = max(1, o.perHost/o.reading.Shard.Count)
	}
	return nil
}

// checkLists refuses flags about lists that contradict each other, or where there
// is no list.
func (o *options) checkLists(all *pflag.FlagSet) error {
	lists := o.input != "" || o.manifest != ""
	switch {
	case all.Changed("input") && o.input == "":
		return usage("-i names no file: write -i FILE, or -i - for standard input")
	case all.Changed("manifest") && o.manifest == "":
		return usage("--manifest names no file: write --manifest FILE, or --manifest - for standard input")
	case o.input == "-" && o.manifest == "-":
		return usage("-i - and --manifest - contradict each other: there is one standard input")
	case o.passwordStdin && (o.input == "-" || o.manifest == "-"):
		return usage("--password-stdin and a list on standard input contradict each other: write -i FILE or --manifest FILE")
	case o.reading.Shard.Count > 0 && !lists:
		return usage("--shard divides a list: write -i FILE or --manifest FILE too")
	case o.divide && o.reading.Shard.Count == 0:
		return usage("--per-host-shared is for --shard: write --shard I/N too")
	case (len(o.reading.Columns) > 0 || len(o.reading.Suffixes) > 0) && o.manifest == "":
		return usage("--columns and --suffix are for a table: write --manifest FILE too")
	}
	for _, flag := range []string{"format", "base", "keep-dirs"} {
		if all.Changed(flag) && !lists {
			return usage("--%s is for a list: write -i FILE or --manifest FILE too", flag)
		}
	}
	return nil
}

// checkPurpose refuses flags that ask for different things to be done.
func (o *options) checkPurpose(all *pflag.FlagSet) error {
	switch {
	case o.info && (o.output != "" || o.dryRun || o.recursive || o.glob):
		return usage("-I prints what servers tell about files: leave out -o, -r, --glob and --dry-run")
	case o.json && o.many() && !o.info:
		return usage("--json is for -I and for listings: write -I too, or --report FILE for what happened to each file")
	case o.long && o.many():
		return usage("-l lists directories: write their URLs, and leave out -i, --manifest, -r, --glob and -j")
	case o.many() && o.output != "":
		return usage("-o names one file: write -d DIR to choose the directory")
	case o.many() && o.file.Sum.Algorithm != "":
		return usage("--checksum is for one file: give digests in a --manifest, or use --verify")
	case all.Changed("report") && o.report == "":
		return usage("--report names no file: write --report FILE")
	case o.report != "" && (o.info || o.dryRun):
		return usage("-I and --dry-run fetch nothing: leave out --report")
	case o.report != "" && !o.many():
		return usage("--report is for many files: write -i, --manifest, -r, --glob or -j too")
	}
	return nil
}

// checkCommas refuses a list of patterns where one pattern should be.
func checkCommas(flag string, patterns []string) error {
	for _, p := range patterns {
		if strings.Contains(inBraces().ReplaceAllString(p, ""), ",") {
			return usage(`%s %s is one pattern: write %s for each pattern, or {a,b}, or "\," for a comma in names`, flag, p, flag)
		}
	}
	return nil
}

// inBraces matches where a comma in a pattern is no sign of a list, which wget's
// --accept takes.
var inBraces = compiled(`\\.|\{[^{}]*\}|\[[^\]]*\]`)

// checkPatterns refuses flags about trees where there is none, and malformed
// patterns.
func (o *options) checkPatterns(all *pflag.FlagSet) error {
	for _, flag := range []string{"accept", "reject", "follow-links"} {
		if all.Changed(flag) && !o.recursive && !o.glob {
			return usage("--%s is for directories: write -r or --glob too", flag)
		}
	}
	if all.Changed("depth") && !o.recursive {
		return usage("--depth is for trees: write -r too")
	}
	err := cmp.Or(checkCommas("--accept", o.tree.Accept), checkCommas("--reject", o.tree.Reject), o.tree.Check())
	for _, t := range o.targets {
		if err == nil && t.err == nil {
			err = (&batch.Tree{Names: t.pattern}).Check()
		}
	}
	return inFlags(err)
}
