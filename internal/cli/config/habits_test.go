package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

// TestSuggestions checks what misspelt flags are taken for. The options of the four
// programs, and English words that differ from a flag in one letter, are none.
func TestSuggestions(t *testing.T) {
	for in, want := range map[string]string{
		"tpye": "type", "overwite": "overwrite", "verbsoe": "verbose", "segment": "segments", "retires": "retries", "netcr": "netrc",
		"dryrun": "dry-run", "recurs": "recursive", "zzz": "", "re": "", "passwordstdin": "password-stdin", "conect-timeout": "connect-timeout",
	} {
		if got := closest(in); (got == nil) != (want == "") || got != nil && got.name != want {
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
		if lookup("--"+word) != nil {
			continue
		}
		if got := closest(word); got != nil && abroad("--"+word) == nil {
			t.Errorf("--%s: perhaps --%s", word, got.name)
		}
	}
}

// TestHabits checks that each row of the table can be read, names flags that there
// are, and proposes what the command takes.
func TestHabits(t *testing.T) {
	seen := make(map[string]bool)
	example := strings.NewReplacer("FILE", "f", "DIR", "d", "TIME", "7s", "RATE", "9K", "GLOB", "*.gz", "ADDR", "127.0.0.1", "URL", "http://h:1", "NAME", "me",
		"ALGO:HEX", "md5:00000000000000000000000000000000", " N", " 3")
	for row := range strings.Lines(habits) {
		flags, _, ok := strings.Cut(row, " = ")
		if !ok {
			continue
		}
		for name := range strings.FieldsSeq(flags) {
			if found := abroad(name); found == nil || seen[name] || strings.HasPrefix(name, "--") && lookup(name) != nil {
				t.Errorf("%s is there twice, or is a flag of ftpfetch", name)
			}
			seen[name] = true
		}
		for _, f := range abroad(strings.Fields(flags)[0]) {
			words := strings.Fields(example.Replace(strings.Join(f.write, " ")))
			if len(words) > 0 && !strings.HasPrefix(words[0], "2>") {
				o := read(words, "")
				if o.wrong != nil || len(o.operands) > 0 {
					t.Errorf("%s: %q: %q, %q", flags, f.write, o.wrong, o.operands)
				}
			}
			for _, flag := range regexp.MustCompile(`(?:^|[ (])(--?[a-zA-Z][a-z-]*)`).FindAllStringSubmatch(f.answer, -1) {
				if lookup(flag[1]) == nil {
					t.Errorf("%s names %s", flags, flag[1])
				}
			}
		}
	}
}

// TestWrongFlags checks what is said about command lines.
func TestWrongFlags(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--tpye a", `unknown flag --tpye: perhaps --type`},
		{"-k", `unknown flag -k: for curl's write --insecure; for wget's nothing does that here (HTML); for aria2's leave it out (automatic)`},
		{"-xhttp://me:secret@h/", `unknown flag -x: for wget's nothing does that here (-d DIR chooses the directory); for curl's write --proxy URL; for aria2's write -s N; for lftp's write --reject GLOB (in trees)`},
		{"-v -json", `-json has one dash: write --json`},
		{"-nc", `unknown flag -nc: for wget's write --no-clobber`},
		{"-OL ftp://h/f", "unknown flag -O: for wget's write -o FILE; for curl's leave it out (a file gets its own name); for aria2's nothing does that here (BitTorrent); for lftp's write -d DIR\nunknown flag -L: for wget's leave it out (a tree stays on its server); for curl's leave it out (HTTP); for lftp's write --follow-links (in trees)\nas one command: ftpfetch ftp://h/f"},
		{"—help", "a flag begins with \"-\", not with \"—\"\n-help has one dash: write --help\nas one command: ftpfetch -h"},
		{"–o=f —user=me:secret ftp://h/f", "a flag begins with \"-\", not with \"–\"\na flag begins with \"-\", not with \"—\"\n-user has one dash: write --user\nas one command: ftpfetch -o f -u me ftp://h/f"},
		{"-avz --partial ftp://h/d/", "unknown flag -a: for wget's leave it out (2>>FILE keeps the messages); for curl's and aria2's nothing does that here (it retrieves only); for rsync's write -r -N\nunknown flag -z: for curl's write -N; for rsync's leave it out (files come as they are)\nunknown flag --partial: leave it out (the default)\nas one command: ftpfetch -v -r -N ftp://h/d/"},
		{"sync ftp://h/d/", "sync is no command: write -r -N\nas one command: ftpfetch -r -N ftp://h/d/"},
		{"-A gz,txt -r ftp://h/d/", "unknown flag -A: for wget's write --accept GLOB (in trees); for curl's leave it out (HTTP)\nas one command: ftpfetch --accept '{*gz,*txt}' -r ftp://h/d/"},
		{"put f ftp://h/f", "put is no command: nothing does that here (it retrieves only)"},
		{"get ftp://h/f", "get is no command: leave it out\nas one command: ftpfetch ftp://h/f"},
		{"ls ftp://h/d/", "ls is no command: write -l\nas one command: ftpfetch -l ftp://h/d/"},
		{"mirror ftp://h/d/", "mirror is no command: write -r\nas one command: ftpfetch -r ftp://h/d/"},
		{"-rl2 ftp://h/d/", "-l takes no value here; for wget's write --depth N (with -r); for curl's leave it out (a URL that ends in / is listed); for aria2's write -v (with 2>FILE)\nas one command: ftpfetch -r --depth 2 ftp://h/d/"},
		{"-sS ftp://h/f", "-s takes a number here: for curl's write -q\nunknown flag -S: for wget's write -v; for curl's leave it out (the default); for aria2's nothing does that here (BitTorrent)\nas one command: ftpfetch -q ftp://h/f"},
		{"-s ftp://h/f", "-s needs a value: write -s N; for curl's write -q\nas one command: ftpfetch -q ftp://h/f"},
		{"-r 0-99 ftp://h/f", `-r takes no value here; for curl's nothing does that here (a file is fetched whole)`},
		{"-l 2 ftp://h/d/", "-l takes no value here; for wget's write --depth N (with -r); for curl's leave it out (a URL that ends in / is listed); for aria2's write -v (with 2>FILE)\n--depth is for trees: write -r too"},
		{"-n 4 ftp://h/f", "-n takes no value here; for lftp's write -s N; for aria2's write --netrc=none\nas one command: ftpfetch -s 4 ftp://h/f"},
		{"-d ftp://h/f", "-d needs a value: write -d DIR; for wget's and lftp's write -v; for curl's nothing does that here (HTTP)\nas one command: ftpfetch -v ftp://h/f"},
		{"-o -nc -uuser -x -no-ledger", "unknown flag -x: for wget's nothing does that here (-d DIR chooses the directory); for curl's write --proxy URL; for aria2's write -s N; for lftp's write --reject GLOB (in trees)\n-no-ledger has one dash: write --no-ledger"},
		{"-T 9 ftp://h/f", "unknown flag -T: for wget's write --timeout TIME; for curl's nothing does that here (it uploads); for aria2's nothing does that here (BitTorrent)\nas one command: ftpfetch --timeout 9 ftp://h/f"},
		{"-A *.gz,*.txt -r ftp://h/d/", "unknown flag -A: for wget's write --accept GLOB (in trees); for curl's leave it out (HTTP)\nas one command: ftpfetch --accept '{*.gz,*.txt}' -r ftp://h/d/"},
		{"--exclude x", `unknown flag --exclude: for rsync's and rclone's write --reject GLOB (in trees); for lftp's write --reject GLOB (in trees)`},
		{"-P dir --tries 3 -q --progress-bar ftp://me:secret@h/f", "unknown flag --tries: for wget's and curl's and aria2's write --retries N (besides the first try)\nunknown flag --progress-bar: write --progress bar\nas one command: ftpfetch -d dir --retries 3 -q --progress bar URL"},
		{"--no-check-certificate --proxy http://me:secret@h:1 ftp://h/f", "unknown flag --no-check-certificate: write --insecure\nas one command: ftpfetch --insecure --proxy URL ftp://h/f"},
		{"-k ftp://h/f", "unknown flag -k: for curl's write --insecure; for wget's nothing does that here (HTML); for aria2's leave it out (automatic)\nas one command: ftpfetch --insecure ftp://h/f"},
		{"--tpye a --retires 3 ftp://h/f", "unknown flag --tpye: perhaps --type\nunknown flag --retires: perhaps --retries\nas one command: ftpfetch --type a --retries 3 ftp://h/f"},
		{"--socks5 h:1 --ftp-passwd secret -u me ftp://h/f", "unknown flag --socks5: for curl's write --proxy socks5://ADDR\nunknown flag --ftp-passwd: write --password-stdin (with -u NAME)\nas one command: ftpfetch --proxy socks5://h:1 --password-stdin -u me ftp://h/f"},
	} {
		_, err := Parse(strings.Fields(tt.args))
		if got := strings.TrimSuffix(fmt.Sprint(err), "\nno URL given: write ftpfetch ftp://host/path/file, or -i - to read URLs from standard input"); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

// TestTaken checks the flags of other programs that are simply taken, and those that are in doubt.
func TestTaken(t *testing.T) {
	for args, want := range map[string]string{
		"-O f URL": "-o f URL", "-O - URL": "-o - URL", "-qO- URL": "-q -o - URL", "-O URL": "URL", "URL -O": "URL", "-q -O URL -O URL": "-q URL URL", "-Of.gz URL": "-o f.gz URL",
		"-O ftp.h/f": "", "-O 1=f URL": "", "-P d URL": "-d d URL", "-P 5 URL": "", "-P - URL": "", "-P URL": "", "-m URL/": "-r -N URL/", "-m 30 URL": "", "-m30 URL": "",
		"--mirror URL/": "-r -N URL/", "-m -P d URL/": "-r -N -d d URL/", "help": "-h", "version": "--version",
	} {
		words := strings.Fields(strings.ReplaceAll(args, "URL", "ftp://h/f"))
		r := read(words, "")
		if got := strings.Join(r.right, " "); (r.wrong == nil) != (want != "") || want != "" && got != strings.ReplaceAll(want, "URL", "ftp://h/f") {
			t.Errorf("%s: got %s, %q, want %s", args, got, r.wrong, want)
		}
	}
}

// TestNewcomers types each command of docs/coming-from.md with ftpfetch in place of the
// program's name. The one beside it must come of that, or be proposed.
func TestNewcomers(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/coming-from.md"))(t)
	rows := regexp.MustCompile("(?m)^\\| `(.*)` \\| `ftpfetch (.*)` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 20 {
		t.Errorf("the page has %d commands", len(rows))
	}
	for _, row := range rows {
		typed, args := row[1], strings.Fields(strings.ReplaceAll(row[1], "URL", "ftp://host"))[1:]
		whole, _ := read(args, "").whole()
		got := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(whole, "ftpfetch "), "'", ""))
		if _, err := Parse(args); err != nil {
			_, proposed, _ := strings.Cut(err.Error(), "as one command: ftpfetch ")
			got = strings.Fields(strings.ReplaceAll(strings.SplitN(proposed, "\n", 2)[0], "'", ""))
		}
		want := strings.Fields(strings.ReplaceAll(row[2], "URL", "ftp://host"))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			_, err := Parse(args)
			t.Errorf("%s: got %q, want %q: %v", typed, got, want, err)
		}
	}
}
