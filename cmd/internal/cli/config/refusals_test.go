package config

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// refusalTests has an entry for each row of the table of refusals, and the change that its text advises: "old=>new", or
// flags to add.
var refusalTests = []struct {
	args, want string
	then       []string
}{
	{"", "no URL given", []string{"URL", "-i l", "--manifest -", "--help"}},
	{"URL,ftp://h/f", "several URLs are joined by commas", []string{",=> "}},
	{"-o g URL URL", "-o is for a single file", []string{"-o g=>-d g", "-o g=>-o -"}},
	{"-r -o g URL/", "-o is for a single file", []string{"-o g=>-d g"}},
	{"-i l -o -", "-o is for a single file", []string{"-o -=>"}},
	{"--checksum md5:HEX URL URL", "--checksum checks a single file", []string{" URL URL=> URL", "--checksum md5:HEX=>--verify"}},
	{"--checksum md5:HEX -i l", "--checksum checks a single file", []string{"--checksum md5:HEX=>--verify"}},
	{"-l -j 2 URL/ URL/", "-l lists the directories named by URLs", []string{"-j 2=>"}},
	{"-l -r URL/", "(-I -r lists a tree)", []string{"-l=>-I", "-r =>"}},
	{"--json -i l", "--json works with -I, --dry-run, --check and listings", []string{"-I", "--json=>--report r"}},
	{"--report r -I -i l", "-I, -l, --json, --dry-run and --check fetch nothing", []string{"--report r=>", "-I=>"}},
	{"--report r --dry-run -i l", "-I, -l, --json, --dry-run and --check fetch nothing", []string{"--report r=>"}},
	{"--report r -l URL/", "-I, -l, --json, --dry-run and --check fetch nothing", []string{"--report r=>", "-l=>"}},
	{"--report - -o - URL", "--report - and -o - cannot both write to standard output", []string{"--report -=>--report r", "-o -=>-o g"}},
	{"--report - URL/", "--report - and a listing cannot both write to standard output", []string{"--report -=>--report r", "-r", "-o g"}},
	{"-o g --keep-dirs URL", "-o and --keep-dirs both say what a file is called", []string{"-o g=>", "--keep-dirs=>", "-o g=>-d g"}},
	{"-I -o g URL", "-I only prints sizes and times", []string{"-o g=>"}},
	{"-I --dry-run URL", "-I only prints sizes and times", []string{"--dry-run=>"}},
	{"--sort time -r URL/", "--sort orders what -l lists, and -I with -r or --glob", []string{"-I", "--sort time=>", "-r=>-l"}},
	{"--sort size --glob URL*", "--sort orders what -l lists", []string{"-l", "-I", "--sort size=>", "--glob=>"}},
	{"--sort size -i l", "--sort orders what -l lists", []string{"--sort size=>"}},
	{"--sort name -I URL", "--sort orders what -l lists", []string{"-r", "--glob", "-I=>-l", "-I=>"}},
	{"--dry-run --sort time -r URL/", "--sort orders what -l lists", []string{"--sort time=>"}},
	{"--check -I -r URL/", "--check, --dry-run, -I and -l print different things", []string{"--check=>", "-I=>"}},
	{"--check --dry-run -r URL/", "--check, --dry-run, -I and -l print different things", []string{"--check=>", "--dry-run=>"}},
	{"--check -l URL/", "--check, --dry-run, -I and -l print different things", []string{"--check=>", "-l=>-r"}},
	{"-c --check URL", "--check changes nothing, and compares all files", []string{"-c =>", "-c =>-N ", "--check=>"}},
	{"--check --overwrite -r URL/", "--check changes nothing, and compares all files", []string{"--overwrite=>", "--check=>"}},
	{"--check --no-clobber -i l", "--check changes nothing, and compares all files", []string{"--no-clobber=>", "--check=>"}},
	{"-r -N --delete --check URL/", "--check changes nothing, and compares all files", []string{"--delete=>", "--check=>"}},
	{"-r --watch 5m --check URL/", "--check changes nothing, and compares all files", []string{"--watch 5m=>", "--check=>"}},
	{"-r --check --newest 3 URL/", "--check changes nothing, and compares all files", []string{"--newest 3=>", "--check=>"}},
	{"-r --check --once URL/", "--check changes nothing, and compares all files", []string{"--once=>", "--check=>"}},
	{"-r --check --exec true$1 URL/", "--exec is for files that are fetched", []string{"--exec true$1=>", "--check=>"}},
	{"--report r --check -i l", "-I, -l, --json, --dry-run and --check fetch nothing", []string{"--report r=>", "--check=>"}},
	{"--check -o g URL", "-o is for a single file: use -d DIR", []string{"-o g=>-d g", "-o g=>"}},
	{"--check --checksum md5:HEX -r URL/", "--checksum checks a single file", []string{"--checksum md5:HEX=>--verify", "-r =>"}},
	{"-l --glob --watch 5m URL*", "--watch runs until it is stopped", []string{"-l=>", "--watch 5m=>"}},
	{"-l -d g URL*", "-d, -N and -c do not apply to listings", []string{"-l=>--glob", "-d g=>", "-d g=>-o g"}},
	{"--range 0-9 URL URL", "--range fetches a part of one file", []string{" URL URL=> URL", "--range 0-9=>"}},
	{"--range 0-9 URL/", "--range fetches a part of a file, but the URL names a directory", []string{"--range 0-9=>", "URL/=>URL"}},
	{"--range 0-9 -N URL", "--range fetches a part of one file", []string{"-N=>", "-N=>-o -", "--range 0-9=>"}},
	{"-o - -d g URL", "-d cannot be combined with -o - or an absolute path in -o", []string{"-d g=>"}},
	{"-o /g -d g URL", "-d cannot be combined with -o - or an absolute path in -o", []string{"-d g=>", "/g=>g"}},
	{"-o - -N URL", "-N and -c cannot be combined with -o -", []string{"-o -=>", "-N=>"}},
	{"-o - -c URL", "-N and -c cannot be combined with -o -", []string{"-o -=>", "-c=>"}},
	{"--overwrite --no-clobber URL", "--no-clobber cannot be combined with --overwrite or -N", []string{"--overwrite=>", "--no-clobber=>", "clobber=>clobber=false"}},
	{"-N --no-clobber URL", "--no-clobber cannot be combined with --overwrite or -N", []string{"-N=>", "--no-clobber=>--overwrite"}},
	{"-c --no-clobber URL", "-c cannot be combined with --overwrite or --no-clobber", []string{"-c=>", "--no-clobber=>"}},
	{"-c --overwrite URL", "-c cannot be combined with --overwrite or --no-clobber", []string{"-c=>", "--overwrite=>"}},
	{"-i - --manifest -", "-i - and --manifest - cannot both read standard input", []string{"-i -=>"}},
	{"--map url=a URL", "--map needs a table", []string{" URL=> -i l", " URL=> --manifest l"}},
	{"-r -d g URL/ URL/x/", "-r -d DIR saves what is in one tree", []string{"--keep-dirs=1", "--keep-dirs", "-d g=>", " URL/x/=>"}},
	{"-r --glob -N -d g URL/ URL/{a,b}/ URL/x", "-r -d DIR saves what is in one tree", []string{"--keep-dirs=1", " URL/x=>", "-N=>-I"}},
	{"--format tsv URL", "--format, --base and --shard need a list", []string{"-i l"}},
	{"--base URL/ URL", "--format, --base and --shard need a list", []string{"-i l"}},
	{"--shard 1/2 URL", "--format, --base and --shard need a list", []string{"-i l"}},
	{"--accept x URL/", "--accept, --reject and --follow-links need a tree", []string{"-r", "--glob"}},
	{"--reject x -i l", "--accept, --reject and --follow-links need a tree", []string{"--reject x=>", "-i l=>-r URL/"}},
	{"-r --reject x -i l", "--accept, --reject and --follow-links need a tree", []string{"-i l=>URL/"}},
	{"-r --sort time -o - URL/", "--sort orders what -l lists", []string{"--sort time=>"}},
	{"--glob --checksum md5:HEX -o - URL*", "--checksum checks a single file", []string{"--checksum md5:HEX=>", "--newest 1"}},
	{"--glob --range 0-9 -o - URL*", "--range fetches a part of one file", []string{"--range 0-9=>"}},
	{"-l --accept x URL/", "-l lists whole directories", []string{"URL/=>URL/*"}},
	{"--glob --accept x URL", "filters choose among what a pattern with * matches", []string{"--accept x=>", "URL=>URL*"}},
	{"--glob --max-size 1M URL URL*", "filters choose among what a pattern with * matches", []string{"URL URL*=>URL* URL*"}},
	{"--glob --newer-than 7d URL{a,b}", "filters choose among what a pattern with * matches", []string{"URL{a,b}=>URL{a,b}*"}},
	{"--follow-links URL/", "--accept, --reject and --follow-links need a tree", []string{"-r"}},
	{"--glob --depth 2 URL*", "--depth needs a tree", []string{"-r"}},
	{"-r --delete URL/", "--delete needs a tree", []string{"-N"}},
	{"-r -N --delete=excluded --glob URL/", "--delete needs a tree", []string{"--glob=>"}},
	{"-r -N --delete -i l", "--delete needs a tree", []string{"-i l=>URL/"}},
	{"--watch 5m URL/", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"-r", "--glob"}},
	{"-r --min-age 5m -i l", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"-i l=>URL/"}},
	{"--max-size 1M URL/", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"-r"}},
	{"--min-size 1M URL/", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"-r"}},
	{"--newer-than today URL/", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"-r"}},
	{"--min-age yesterday URL/", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"--glob"}},
	{"--min-age 2026-01-02 URL/", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"-r"}},
	{"--newer-than 2026-01-02 URL/", "--watch, --min-age, --newer-than, --min-size and --max-size need a tree", []string{"-r"}},
	{"-l --min-size 1M URL/", "-l lists whole directories", []string{"-l=>-r", "URL/=>--glob URL/*"}},
	{"--newest 2 URL/", "--newest chooses among the files of a directory", []string{"-r", "--glob", "-l"}},
	{"--newest 2 -i l", "--newest chooses among the files of a directory", []string{"-i l=>-r URL/"}},
	{"-r -N --delete --newest 2 URL/", "--newest cannot be combined with --delete", []string{"--delete=>", "--newest 2=>"}},
	{"-l --newest 1 -o g URL/", "-l with --newest only prints files", []string{"-o g=>", "-l=>--glob"}},
	{"-l --newest 1 --dry-run URL/", "-l with --newest only prints files", []string{"--dry-run=>", "-l=>-r"}},
	{"--glob --newest 1 --watch 5m -o g URL*", "--watch saves files under their own names", []string{"-o g=>", "--watch 5m=>"}},
	{"--glob --newest 2 -o g URL*", "-o is for a single file", []string{"newest 2=>newest 1", "-o g=>-d g", "-o g=>-o -"}},
	{"-r -l --newest 2 URL/", "(-I -r lists a tree)", []string{"-l=>-I", "-r=>", "-r=>--glob"}},
	{"--glob --newest 2 --watch 5m -l URL*", "--watch runs until it is stopped", []string{"-l=>", "--watch 5m=>"}},
	{"-r --watch 5m -I URL/", "--watch runs until it is stopped", []string{"-I=>", "--watch 5m=>"}},
	{"-r -N --backup URL/", "--backup and --max-delete only affect --delete", []string{"--delete"}},
	{"-r -N --max-delete 3 URL/", "--backup and --max-delete only affect --delete", []string{"--delete"}},
	{"-N URL/", "-d, -N and -c do not apply to listings", []string{"-r", "-N=>", "-o g"}},
	{"-l -d g URL", "-d, -N and -c do not apply to listings", []string{"-l=>", "-d g=>"}},
	{"--json -c URL", "-d, -N and -c do not apply to listings", []string{"--json=>", "-c=>-o g"}},
	{"-d g URL/ URL/", "-d, -N and -c do not apply to listings", []string{"-r --keep-dirs=1", "-d g=>", " URL/ URL/=> URL/ URL", "URL/ URL/=>-o g URL/"}},
	{"--once -o g URL", "--once and --exec are for files with the names that they have on the server", []string{"-o g=>", "-o g=>-d g", "--once=>"}},
	{"--exec true$1 --range 0-9 URL", "--once and --exec are for files with the names that they have on the server", []string{"--range 0-9=>", "--exec true$1=>"}},
	{"--exec true$1 -o - URL", "--once and --exec are for files with the names that they have on the server", []string{"-o -=>"}},
	{"--once --no-ledger -i l", "--once and --exec need the ledger", []string{"--no-ledger=>"}},
	{"-r --exec true$1 --no-ledger URL/", "--once and --exec need the ledger", []string{"--no-ledger=>"}},
	{"--once --overwrite -i l", "--once and --overwrite contradict each other", []string{"--overwrite=>-N", "--once=>"}},
	{"--once -I -i l", "--once is about what is fetched", []string{"-I=>", "-I=>--dry-run"}},
	{"--once -l URL/", "--once is about what is fetched", []string{"-l=>", "-l=>--dry-run"}},
	{"--once --json -i l", "--once is about what is fetched", []string{"--json=>", "--dry-run"}},
	{"--exec true$1 --dry-run -i l", "--exec is for files that are fetched", []string{"--dry-run=>", "--exec true$1=>"}},
	{"-r --exec true$1 -I URL/", "--exec is for files that are fetched", []string{"-I=>"}},
	{"--exec true$1 --report - -i l", "--exec and --report - cannot both write to standard output", []string{"--report -=>--report r", "--report -=>"}},
	{"--password-stdin -u me -i -", "--password-stdin and a list cannot both read standard input", []string{"-i -=>-i l"}},
	{"--password-stdin ftp://me:secret@h/f", "--password-stdin cannot be combined with a password in the URL", []string{":secret=>", "--password-stdin=>"}},
	{"--password-stdin -u me:secret URL", "--password-stdin cannot be combined with a password in -u", []string{":secret=>"}},
	{"--password-stdin URL", "--password-stdin does not say whose password it is", []string{"-u me", "URL=>ftp://me@h/f"}},
	{"--password-stdin ftp://me@h/f URL", "--password-stdin does not say whose password it is", []string{"-u me"}},
	{"--limit-rate 1K --speed-limit 2K URL", "--limit-rate is below --speed-limit, so every transfer would be too slow", []string{"1K=>2K", "2K=>1"}},
	{"--key k URL", "--key is the private key of a certificate", []string{"--cert c", "--key=>--cert"}},
	{"--mode active --proxy h:1 URL", "--mode active does not work through a proxy", []string{"h:1=>none", "active=>pasv"}},
	{"--proxy get+h:1 --tls try URL", "--proxy get+ cannot be combined with --tls try, because GET is not encrypted", []string{"get+=>", "--tls try=>"}},
}

// TestRefusals checks that each line is refused, and accepted after the change.
func TestRefusals(t *testing.T) {
	line := func(text string) []string {
		return strings.Fields(strings.NewReplacer("URL", "ftp://h/f", "HEX", strings.Repeat("0", 32)).Replace(text))
	}
	told := ""
	for _, tt := range refusalTests {
		_, err := Parse(line(tt.args))
		if message := fmt.Sprint(err); !strings.Contains(message, tt.want) || strings.Contains(message, "\n") {
			t.Errorf("%s: got %v, want %s", tt.args, err, tt.want)
		} else {
			told += message + "\n"
		}
		for _, way := range tt.then {
			args := way + " " + tt.args
			if before, after, replaces := strings.Cut(way, "=>"); replaces {
				args = strings.Replace(tt.args, before, after, 1)
			}
			if _, err := Parse(line(args)); err != nil {
				t.Errorf("%s: %v", args, err)
			}
		}
	}
	for _, row := range refusals {
		if !strings.Contains(told, row.text+"\n") {
			t.Errorf("no line is refused because %s", row.text)
		}
	}
}

// TestTable checks that each flag of the table is whole, and that no two share a spelling or a field.
func TestTable(t *testing.T) {
	l := read(nil, "")
	spellings := make(map[string]bool)
	fields := make(map[any]string)
	for _, f := range l.flags {
		for _, s := range []string{"--" + f.name, "-" + f.letter} {
			if spellings[s] && s != "-" {
				t.Errorf("%s is there twice", s)
			}
			spellings[s] = true
		}
		ways := 0
		for _, is := range []bool{f.on != nil, f.word != nil, f.set != nil} {
			if is {
				ways++
			}
		}
		if ways != 1 || f.help == "" || f.word != nil && !strings.Contains(f.value, "|") || f.on != nil && f.value != "" {
			t.Errorf("--%s is not whole", f.name)
		}
		for _, field := range []any{f.on, f.word} {
			if before := fields[field]; before != "" && !reflect.ValueOf(field).IsNil() {
				t.Errorf("--%s and --%s set the same field", f.name, before)
			}
			fields[field] = f.name
		}
	}
}

// TestDefaults checks that the fields of flags with a default have it, and that the help says so.
func TestDefaults(t *testing.T) {
	for _, f := range read(nil, "").flags {
		if f.def == "" {
			continue
		}
		if err := f.read(f.def); err != nil || !strings.Contains(f.help+f.more, "DEFAULT") {
			t.Errorf("--%s: the default is %q: %v, and the help is %q", f.name, f.def, err, f.help)
		}
	}
	c, _ := Parse(nil)
	got := fmt.Sprint(c.Jobs, c.File.Segments, c.MaxDelete, c.Client.ConnectTimeout, c.Client.Timeout, c.Client.MinRate, c.Client.MinRateTime)
	if want := "6 1 100 30s 1m0s 17 10m0s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestBadValues checks the messages about bad values, and that they show no password.
func TestBadValues(t *testing.T) {
	for args, want := range map[string]string{
		"--output=": "write a name", "--dir=": "write a name", "--input=": "write a name", "--manifest=": "write a name", "--report=": "write a name",
		"--netrc=": "write a name", "-i l -i m": "--input m: is a second list: merge the two into one", "--accept a,b": "is one pattern: write --accept for each pattern",
		"--reject [a": "close the bracket or brace", "--accept {a": "close the bracket or brace", "--type q": "write a, i, d or guess",
		"-s 0": "--segments 0: write a whole number from 1 to 64, or auto", "-s 65": "write a whole number from 1 to 64", "--retries x": "write a whole number from 0",
		"--depth 0": "write a whole number from 1", "-j 0": "write a whole number from 1 to 64, or auto", "-j x": ", or auto", "--per-host 0": "write a whole number from 1 to 64",
		"--ip lo": "write 4, 6 or an IP address of this machine", "--timeout x": "write a time such as 90, 3s, 2m or 7d", "--speed-limit 1K/x": "write a time",
		"--limit-rate 1.5": "write bytes such as 500K", "--limit-rate x": "write bytes such as 500K", "--limit-rate 0": "without the flag there is no limit",
		"--format x": "write tsv, csv,", "--json=x": "write --json or --json=false", "--checksum sha3:00": "unknown digest algorithm", "--checksum=": "write ALGO:HEX",
		"--checksum abc": "has no algorithm: write ALGO:HEX", "--shard 0/1": "--shard 0/1: write I/N, from 1/N to N/N", "--shard 3/2": "write I/N",
		"--shard half": "write I/N", "--progress JSON": "write auto, bar", "--range 9": "--range 9: write A-B", "--range 9-0": "write A-B", "--range -9": "write A-B", "--range=-9": "write A-B", "--range 0-9,20-29": "write A-B",
		"--help=tcsh":      "write man, bash, zsh or fish",
		"-u me:secret\x00": "--user: the value contains a line end or NUL", "--proxy me:secret@h:99999": "--proxy: ", "--proxy get+socks5://me:secret@h": "--proxy: only an HTTP proxy",
		"--proxy get+none": "only an HTTP proxy",
	} {
		_, err := Parse(append(strings.Fields(args), "ftp://h/f"))
		if message := fmt.Sprint(err); !strings.Contains(message, want) || strings.Contains(message, "secret") {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// TestAllAtOnce checks that one message reports wrong flags, bad values and contradictions.
func TestAllAtOnce(t *testing.T) {
	_, err := Parse(strings.Fields("--tpye a -s 0 --overwrite --no-clobber --depth 2 ftp://h/f"))
	want := "unknown flag --tpye: perhaps --type\n--segments 0: write a whole number from 1 to 64, or auto\n" +
		"--no-clobber cannot be combined with --overwrite or -N: drop one\n" +
		"--depth needs a tree: add -r"
	if fmt.Sprint(err) != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestValues checks the meaning of flags' values; "" means that the value is refused.
func TestValues(t *testing.T) {
	of := func(v any, err error) string {
		if err != nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	times := func(s string) string { return of(readTime(s)) }
	sizes := func(s string) string { return of(ReadSize(s)) }
	logins := func(s string) string { return of(readLogin(s)) }
	for _, tt := range []struct {
		read func(string) string
		want map[string]string
	}{
		{times, map[string]string{"3s": "3s", "2m": "2m0s", "1h30m": "1h30m0s", "90": "1m30s", "0.25": "250ms", "1e2": "1m40s", "1d": "24h0m0s", "0.5d": "12h0m0s"}},
		{sizes, map[string]string{"1": "1", "4096": "4096", "500K": "512000", "500k": "512000", "1.5M": "1572864", "2g": "2147483648", ".5K": "512", "8388608G": "9007199254740992"}},
		{logins, map[string]string{"me": "me", "me:pw": "me:pw", "me:p:w@/%41": "me:p%3Aw%40%2F%2541", "me:": "me:", "": "", ":x": ":x", "a\nb": "", "a\x00": ""}},
	} {
		for in, want := range tt.want {
			if got := tt.read(in); got != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		}
	}
	for _, in := range []string{"", "0", "0s", "-1", "-3s", "soon", "3 s", "NaN", "inf", "1e300", "1e-12", "d", "0d", "-1d", "99999d", "1dd", "1h1d", "infd"} {
		if got := times(in); got != "" {
			t.Errorf("%q is the time %s", in, got)
		}
	}
	for _, in := range []string{"", "1.9", "1.5", "1.0", "K", "0", "0K", "0.1", "-1", "+1", "1T", "1KiB", "1 K", "1KK", "1e3", "0x10", "1_000", "inf", "NaN", "9000000G", "1.2.3", "1\v"} {
		if got := sizes(in); got != "" {
			t.Errorf("%q is the size %s", in, got)
		}
	}
}

// TestLogin checks that -u takes what follows it as its value, even if that is empty.
func TestLogin(t *testing.T) {
	for args, want := range map[string]string{"ftp://h/": "false ", "-u me ftp://h/": "true me", "-u= ftp://h/": "true ", "ftp://h/ -u:x": "true :x"} {
		c, err := Parse(strings.Fields(args))
		if got := fmt.Sprint(c.User != nil, " ", c.User); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", args, got, err, want)
		}
	}
}

// TestPerHost checks that -j alone also sets the number of connections to one server.
func TestPerHost(t *testing.T) {
	for args, want := range map[string][2]int{ // number of connections in total, and to one server
		"": {6, 0}, "-j 5": {5, 0}, "-j 1": {1, 0}, "-j 4": {4, 0}, "-j auto": {0, 0},
		"--per-host 3": {6, 3}, "--shared": {6, 6}, "--shared -j 5": {5, 5}, "--shared --per-host 3": {6, 3}, "-j auto --shared": {0, 6}, "-j 5 --per-host 3": {5, 3}, "-j 2 --per-host 3": {2, 3}, "-j auto --per-host 3": {0, 3},
	} {
		o, err := Parse(append(strings.Fields(args), "-i", "list"))
		if got := [2]int{o.Jobs, o.PerHost}; err != nil || got != want || o.Shared != strings.Contains(args, "--shared") {
			t.Errorf("%q: got %v, shared %v, %v, want %v", args, got, o.Shared, err, want)
		}
	}
	t.Setenv("FTPFETCH_PER_HOST", "5")
	if o, err := Parse([]string{"-j", "auto", "-i", "list"}); err != nil || o.PerHost != 5 || !o.Shared {
		t.Errorf("with FTPFETCH_PER_HOST=5: %v, shared %v, %v", o.PerHost, o.Shared, err)
	}
}

// TestSuggestions checks which flags misspelt flags are taken for. The options of the four programs, and English words
// that differ from a flag in one letter, are taken for none.
func TestSuggestions(t *testing.T) {
	l := read(nil, "")
	for in, want := range map[string]string{
		"tpye": "type", "overwite": "overwrite", "verbsoe": "verbose", "segment": "segments", "retires": "retries", "netcr": "netrc",
		"dryrun": "dry-run", "recurs": "recursive", "zzz": "", "re": "", "passwordstdin": "password-stdin", "conect-timeout": "connect-timeout",
	} {
		if got := l.closest(in); (got == nil) != (want == "") || got != nil && got.name != want {
			t.Errorf("--%s: got %v, want %q", in, got, want)
		}
	}
	var words []string
	for _, program := range []string{"wget", "curl", "aria2", "lftp"} {
		text := must.Get(os.ReadFile("testdata/options/" + program + ".txt"))(t)
		words = append(words, strings.Fields(strings.ReplaceAll(string(text), "--", ""))...)
	}
	words = append(words, strings.Fields("retort import export bast lase tips glow bond tape mark port mobs lobs slum song dig fir out for tin kay bit infer grief")...)
	for _, word := range words {
		if l.lookup("--"+word) != nil || isHabit("--"+word) || slices.Contains(notMisspelt, "--"+word) {
			continue
		}
		if got := l.closest(word); got != nil {
			t.Errorf("--%s: perhaps --%s", word, got.name)
		}
	}
}

// TestHabits checks that each row of the table is well formed: no program has a spelling twice with the same kind of
// value, no flag for all programs is one of ours, and our words are flags that exist.
func TestHabits(t *testing.T) {
	seen := make(map[string]bool)
	l := read(nil, "")
	for _, h := range habits {
		if _, known := values[h.value]; h.value != "" && !known {
			t.Errorf("%s: %s is no placeholder", h.spelling, h.value)
		}
		for spelling := range strings.FieldsSeq(h.spelling) {
			key := fmt.Sprint(h.program, " ", spelling, " ", h.value)
			shared := h.program == "" || h.program == "any"
			if seen[key] || seen["any "+spelling+" "] || shared && strings.HasPrefix(spelling, "--") && l.lookup(spelling) != nil {
				t.Errorf("%s is there twice, or is a flag of ftpfetch", key)
			}
			seen[key] = true
		}
		words := strings.Fields(h.write)
		for i, word := range words {
			name, _, _ := strings.Cut(word, "=")
			f := l.lookup(name)
			if name[0] == '-' && name != "-" && f == nil || f != nil && !f.bare() && i == len(words)-1 {
				t.Errorf("%s: %s is no flag, or lacks its value", h.spelling, word)
			}
		}
	}
}

// TestWrongFlags checks the messages about wrong flags.
func TestWrongFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--tpye a", `unknown flag --tpye: perhaps --type`},
		{"-k", "unknown flag -k\n" + otherPrograms},
		{"-xhttp://me:secret@h/", "unknown flag -x\n" + otherPrograms},
		{"-v -json", `-json has one dash: write --json`},
		{"-nc", "unknown flag -nc: perhaps --no-clobber\n" + otherPrograms},
		{"-g ftp://h/*.gz", "unknown flag -g\n" + otherPrograms},
		{"-g ftp://h/f", "unknown flag -g\ncurl prints the file: without -o - it is saved\nas curl means it: ftpfetch ftp://h/f -o -"},
		{"-i names -B ftp://h/d/", "unknown flag -B\nas wget means it: ftpfetch -i names --base ftp://h/d/"},
		{"--md5 ftp://h/f", "unknown flag --md5: perhaps --checksum md5:HEX\n" + otherPrograms},
		{"--md5=x ftp://h/f", "unknown flag --md5: perhaps --checksum md5:HEX\n" + otherPrograms},
		{"--continue-at 7 ftp://h/f", "unknown flag --continue-at: perhaps -c\n" + otherPrograms},
		{"-OL ftp://h/f", "unknown flag -O\nas curl means it: ftpfetch ftp://h/f"},
		{"—help", "a flag begins with \"-\", not with \"—\"\n-help has one dash: write --help\nas one command: ftpfetch -h"},
		{"–o=f —user=me:secret ftp://h/f", "a flag begins with \"-\", not with \"–\"\na flag begins with \"-\", not with \"—\"\n-user has one dash: write --user\nas one command: ftpfetch -o f -u me ftp://h/f"},
		{"-avz --partial ftp://h/d/", "unknown flag -a\nunknown flag --partial\nas rsync means it: ftpfetch -r -N --progress plain ftp://h/d/"},
		{"-A gz,txt -r ftp://h/d/", "unknown flag -A\nas wget means it: ftpfetch --accept '{*gz,*txt}' -r ftp://h/d/"},
		{"get ftp://h/f", "get is not a command: write flags and URLs\nas lftp means it: ftpfetch ftp://h/f"},
		{"ls ftp://h/d/", "ls is not a command: write flags and URLs\nas lftp means it: ftpfetch -l ftp://h/d/"},
		{"mirror ftp://h/d/", "mirror is not a command: write flags and URLs\nas lftp means it: ftpfetch -r -N ftp://h/d/"},
		{"-rl2 ftp://h/d/", "-l takes no value here\nas wget means it: ftpfetch -r --depth 2 ftp://h/d/"},
		{"-sS ftp://h/f", "--segments S: write a whole number from 1 to 64, or auto\ncurl prints the file: without -o - it is saved\nas curl means it: ftpfetch -q ftp://h/f -o -"},
		{"-s ftp://h/f", "-s needs a value: write -s N\ncurl prints the file: without -o - it is saved\nas curl means it: ftpfetch -q ftp://h/f -o -"},
		{"-n my.netrc ftp://h/f", "-n takes a file only after =: write --netrc=my.netrc\nas one command: ftpfetch --netrc=my.netrc ftp://h/f"},
		{"-n -u me -x ftp://h/f", "unknown flag -x\na directory for the host is not made: -d HOST makes it\nas wget means it: ftpfetch -n -u me --keep-dirs ftp://h/f"},
		{"download ftp://h/f", "download is not a command: write flags and URLs\n" + otherPrograms},
		{"sync ftp://h/d/ out", "sync is not a command: write flags and URLs: -r -N -d DIR fetches what is new; with --delete it deletes what it had fetched and the server no longer has\n" + otherPrograms},
		{"--help=tcsh", "--help tcsh: write man, bash, zsh or fish"},
		{"-p secret ftp://h/f", "unknown flag -p: -u NAME asks for the password\n" + otherPrograms},
		{"mirror ftp://h/d/ out", "mirror is not a command: write flags and URLs\nas lftp means it: ftpfetch -r -N ftp://h/d/ -d out"},
		{"-avz ftp://h/d/ out", "unknown flag -a\nas rsync means it: ftpfetch -r -N --progress plain ftp://h/d/ -d out"},
		{"-R ftp://h/d/", "unknown flag -R\nas ncftp means it: ftpfetch -r ftp://h/d/"},
		{"--user ftp://h/f", "-u needs a value: write -u NAME[:PASSWORD]"},
		{"--recursive=yes ftp://h/d/", "--recursive yes: write --recursive or --recursive=false"},
		{"--no-recursive ftp://h/d/", "unknown flag --no-recursive\n" + otherPrograms},
		{"--completion", "unknown flag --completion\n" + otherPrograms},
		{"-mirror ftp://h/d/", "-mirror has one dash\nas one command: ftpfetch -r -N ftp://h/d/"},
		{"-r --keep-dirs 2 -d g ftp://h/f", "--keep-dirs takes a number only after =: write --keep-dirs=2\nas one command: ftpfetch -r --keep-dirs=2 -d g ftp://h/f"},
		{"--keep-dirs=0 ftp://h/f", "--keep-dirs 0: write --keep-dirs, or a whole number from 1, as in --keep-dirs=1"},
		{"--keep-dirs=-1 ftp://h/f", "--keep-dirs -1: write --keep-dirs, or a whole number from 1, as in --keep-dirs=1"},
		{"--keep-dirs=last ftp://h/f", "--keep-dirs last: write --keep-dirs, or a whole number from 1, as in --keep-dirs=1"},
		{"-vn ~/netrc ftp://h/f", "-n takes a file only after =: write --netrc=~/netrc\nas one command: ftpfetch -v '--netrc=~/netrc' ftp://h/f"},
		{"--netrc ./n ftp://h/f", "-n takes a file only after =: write --netrc=./n\nas one command: ftpfetch --netrc=./n ftp://h/f"},
		{"-r -e ftp://h/d/", "unknown flag -e: write flags in the command, such as --proxy URL, -u NAME, -N, --delete\n" + otherPrograms},
		{"-r -X sub ftp://h/d/", "unknown flag -X: --reject /NAME/ leaves out a directory of the tree\n" + otherPrograms},
		{"mirror -e ftp://h/d/", "mirror is not a command: write flags and URLs: perhaps -r -N\nunknown flag -e: write flags in the command, such as --proxy URL, -u NAME, -N, --delete\n" + otherPrograms},
		{"--delete-after ftp://h/f", "unknown flag --delete-after: nothing is changed on the server: ftpfetch only downloads\n" + otherPrograms},
		{"-sSo g ftp://h/f", "--segments So: write a whole number from 1 to 64, or auto\nas curl means it: ftpfetch -q -o g ftp://h/f"},
		{"-r 0-99 ftp://h/f", "-r takes no value here\ncurl prints the file: without -o - it is saved\nas curl means it: ftpfetch --range 0-99 ftp://h/f -o -"},
		{"-l 2 ftp://h/d/", "-l takes no value here\n" + otherPrograms},
		{"-n 4 ftp://h/f", "-n takes no value here\n" + otherPrograms},
		{"-d ftp://h/f", "-d needs a value: write -d DIR"},
		{"-o -nc -uuser -x -no-ledger", "unknown flag -x\n-no-ledger has one dash: write --no-ledger\n" + otherPrograms},
		{"-T 9 ftp://h/f", "unknown flag -T\nas wget means it: ftpfetch --timeout 9 ftp://h/f"},
		{"-A *.gz,*.txt -r ftp://h/d/", "unknown flag -A\nas wget means it: ftpfetch --accept '{*.gz,*.txt}' -r ftp://h/d/"},
		{"--exclude x", "unknown flag --exclude: perhaps --reject GLOB\n" + otherPrograms},
		{"-P dir --tries 3 -q --progress-bar ftp://me:secret@h/f", "unknown flag --tries\nunknown flag --progress-bar: perhaps --progress bar\n" + otherPrograms},
		{"--no-check-certificate --proxy http://me:secret@h:1 ftp://h/f", "unknown flag --no-check-certificate\nas one command: ftpfetch --insecure --proxy URL ftp://h/f"},
		{"-k ftp://h/f", "unknown flag -k\ncurl prints the file: without -o - it is saved\nas curl means it: ftpfetch --insecure ftp://h/f -o -"},
		{"--tpye a --retires 3 ftp://h/f", "unknown flag --tpye: perhaps --type\nunknown flag --retires: perhaps --retries\nas one command: ftpfetch --type a --retries 3 ftp://h/f"},
		{"--socks5 h:1 --ftp-passwd secret -u me ftp://h/f", "unknown flag --socks5\nunknown flag --ftp-passwd\ncurl prints the file: without -o - it is saved\nas curl means it: ftpfetch --proxy socks5://h:1 --password-stdin -u me ftp://h/f -o -"},
	} {
		_, err := Parse(strings.Fields(tt.args))
		if got := strings.TrimSuffix(fmt.Sprint(err), "\nno URL given: write ftpfetch ftp://host/path/file, or -i - to read URLs from standard input"); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}
