package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// allFlags returns every flag of the command.
func allFlags() *pflag.FlagSet {
	return read(nil, "").all
}

// lookup finds a flag of the command by its name with its dashes.
func lookup(all *pflag.FlagSet, name string) *pflag.Flag {
	if long, ok := strings.CutPrefix(name, "--"); ok {
		return all.Lookup(long)
	}
	if len(name) != 2 {
		return nil
	}
	return shorthand(name[1], all)
}

// optionsOf returns the options that a program's help or manual lists.
func optionsOf(t *testing.T, program string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/options/" + program + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// TestNoMisleadingSuggestion gives the options of the four programs, and English
// words that differ from a flag in one letter, as unknown flags. None may be taken
// for a misspelt flag.
func TestNoMisleadingSuggestion(t *testing.T) {
	all := allFlags()
	var words []string
	for _, program := range []string{"wget", "curl", "aria2", "lftp"} {
		for _, name := range optionsOf(t, program) {
			words = append(words, strings.TrimLeft(name, "-"))
		}
	}
	words = append(words, strings.Fields("retort import export bast lase tips glow bond tape mark port short sort mobs lobs slum song dig fir out for tin kay bit infer grief")...)
	for _, word := range words {
		if all.Lookup(word) != nil {
			continue
		}
		if got := closest(word, all); got != "" && abroad("--"+word) == nil {
			t.Errorf("--%s: perhaps --%s", word, got)
		}
	}
}

// TestSuggestions checks what misspelt flags are taken for.
func TestSuggestions(t *testing.T) {
	for in, want := range map[string]string{
		"tpye": "type", "overwite": "overwrite", "verbsoe": "verbose", "segment": "segments", "retires": "retries", "netcr": "netrc",
		"dryrun": "dry-run", "recurs": "recursive", "out": "", "zzz": "", "re": "", "passwordstdin": "password-stdin", "manifst": "manifest",
		"conect-timeout": "connect-timeout", "jbos": "jobs", "retort": "",
	} {
		if got := closest(in, allFlags()); got != want {
			t.Errorf("--%s: got %q, want %q", in, got, want)
		}
	}
}

// TestHabits checks that each row of the table can be read, names flags that there
// are, and proposes what the command takes.
func TestHabits(t *testing.T) {
	seen, all := make(map[string]bool), allFlags()
	example := strings.NewReplacer("FILE", "f", "DIR", "d", "TIME", "7s", "RATE", "9K", "GLOB", "*.gz", "ADDR", "127.0.0.1", "URL", "http://h:1", "NAME", "me",
		"ALGO:HEX", "md5:00000000000000000000000000000000", " N", " 3")
	for _, h := range habits {
		for name := range strings.FieldsSeq(h.flags) {
			if found := abroad(name); found == nil || seen[name] || strings.HasPrefix(name, "--") && all.Lookup(name[2:]) != nil {
				t.Errorf("%s is there twice, or is a flag of ftpfetch", name)
			}
			seen[name] = true
		}
		for _, f := range abroad(strings.Fields(h.flags)[0]) {
			words := strings.Fields(example.Replace(strings.Join(f.write, " ")))
			if len(words) > 0 && !strings.HasPrefix(words[0], "2>") {
				o := read(words, "")
				if o.wrong != nil || len(o.operands) > 0 {
					t.Errorf("%s: %q: %q, %q", h.flags, f.write, o.wrong, o.operands)
				}
			}
			for _, flag := range regexp.MustCompile(`(?:^|[ (])(--?[a-zA-Z][a-z-]*)`).FindAllStringSubmatch(f.answer, -1) {
				if lookup(all, flag[1]) == nil {
					t.Errorf("%s names %s", h.flags, flag[1])
				}
			}
		}
	}
}

// TestWrongFlags checks what is said about command lines.
func TestWrongFlags(t *testing.T) {
	tests := []struct{ args, want string }{
		{"--tpye a", `unknown flag --tpye: perhaps --type`},
		{"-C -", `unknown flag -C: for curl's write -c`},
		{"-k", `unknown flag -k: for curl's write --insecure; for wget's nothing does that here (HTML); for aria2's leave it out (automatic)`},
		{"--mirror", `unknown flag --mirror: write -r -N`},
		{"-P dir", `unknown flag -P: for wget's write -d DIR; for curl's write --mode active; for aria2's nothing does that here (the shell takes {1..9}); for lftp's write -j N`},
		{"-xhttp://me:secret@h/", `unknown flag -x: for wget's nothing does that here (-d DIR chooses the directory); for curl's write --proxy URL; for aria2's write -s N; for lftp's write --reject GLOB (in trees)`},
		{"--output-document=x", `unknown flag --output-document: write -o FILE`},
		{"--ssl-reqd", `unknown flag --ssl-reqd: write --tls explicit`},
		{"--list-only", `unknown flag --list-only: leave it out (a URL that ends in / is listed)`},
		{"-s x", `--segments x: write a whole number from 1 to 64; for curl's write -q`},
		{"-s ftp://me:secret@h/a", "-s needs a value: write -s N before the URL; for curl's write -q\nas one command: ftpfetch -q URL"},
		{"--json=x", `--json x: write --json or --json=false`},
		{"-v -json", `-json has one dash: write --json`},
		{"-nc", `-nc is wget's: write --no-clobber; write -n -c for the two flags`},
		{"-nd ftp://h/f", "-nd is wget's: leave it out; write -n -d for the two flags\nas one command: ftpfetch ftp://h/f"},
		{"-mnp ftp://h/d/", "-mnp is wget's: write -r -N\nas one command: ftpfetch -r -N ftp://h/d/"},
		{"-qO- ftp://h/f", "-qO is wget's: write -q -o -\nas one command: ftpfetch -q -o - ftp://h/f"},
		{"-rl2 ftp://h/d/", "-rl is wget's: write -r --depth 2; write -r -l for the two flags\nas one command: ftpfetch -r --depth 2 ftp://h/d/"},
		{"-fsSLO ftp://h/f", "-fsSLO is curl's: write -q\nas one command: ftpfetch -q ftp://h/f"},
		{"-sS ftp://h/f", "-sS is curl's: write -q\nas one command: ftpfetch -q ftp://h/f"},
		{"-s ftp://h/f", "-s needs a value: write -s N before the URL; for curl's write -q\nas one command: ftpfetch -q ftp://h/f"},
		{"-s -o f ftp://h/f", "-s needs a value, but a flag follows: write -s N; for curl's write -q\nas one command: ftpfetch -q -o f ftp://h/f"},
		{"-r 0-99 ftp://h/f", `-r takes no value here; for curl's nothing does that here (a file is fetched whole)`},
		{"-r0-99 ftp://h/f", `-r with a value is another program's: for curl's nothing does that here (a file is fetched whole)`},
		{"-l 2 ftp://h/d/", "-l takes no value here; for wget's write --depth N (with -r); for curl's leave it out (a URL that ends in / is listed); for aria2's write -v (with 2>FILE)\n--depth is for trees: write -r too"},
		{"-l aria2.log ftp://h/f", "-l takes no value here; for wget's write --depth N (with -r); for curl's leave it out (a URL that ends in / is listed); for aria2's write -v (with 2>FILE)\nas one command: ftpfetch -v ftp://h/f"},
		{"-n 4 ftp://h/f", "-n takes no value here; for lftp's write -s N; for aria2's write --netrc=none\nas one command: ftpfetch -s 4 ftp://h/f"},
		{"-N 2024-01-01 ftp://h/f", `-N takes no value here; for curl's leave it out (the default); for lftp's nothing does that here (-N compares with the file here)`},
		{"-j ftp://h/f", "-j needs a value: write -j N before the URL; for curl's leave it out (HTTP)\nas one command: ftpfetch ftp://h/f"},
		{"-d ftp://h/f", "-d needs a value: write -d DIR before the URL; for wget's and lftp's write -v; for curl's nothing does that here (HTTP)\nas one command: ftpfetch -v ftp://h/f"},
		{"-d -q ftp://h/f", "-d needs a value, but a flag follows: write -d DIR; for wget's and lftp's write -v; for curl's nothing does that here (HTTP)\nas one command: ftpfetch -v -q ftp://h/f"},
		{"-t 0", `unknown flag -t: for wget's write --retries N (besides the first try); for curl's nothing does that here (telnet); for aria2's write --timeout TIME`},
		{"-T 9", `unknown flag -T: for wget's write --timeout TIME; for curl's nothing does that here (it uploads); for aria2's nothing does that here (BitTorrent)`},
		{"-L", `unknown flag -L: for wget's leave it out (a tree stays on its server); for curl's leave it out (HTTP); for lftp's write --follow-links (in trees)`},
		{"-Upass:word", `unknown flag -U: for wget's and aria2's leave it out (HTTP); for curl's leave it out (it is part of the proxy's URL)`},
		{"--progress=dot", `--progress dot: write auto, bar, plain, json or none`},
		{"-u -nc -uuser -x -nopipelining", "unknown flag -x: for wget's nothing does that here (-d DIR chooses the directory); for curl's write --proxy URL; for aria2's write -s N; for lftp's write --reject GLOB (in trees)\n-nopipelining has one dash: write --no-pipelining"},
		{"-T up.txt ftp://h/f", `unknown flag -T: for wget's write --timeout TIME; for curl's nothing does that here (it uploads); for aria2's nothing does that here (BitTorrent)`},
		{"-T 9 ftp://h/f", "unknown flag -T: for wget's write --timeout TIME; for curl's nothing does that here (it uploads); for aria2's nothing does that here (BitTorrent)\nas one command: ftpfetch --timeout 9 ftp://h/f"},
		{"-H X ftp://h/f", "unknown flag -H: for wget's leave it out (a tree stays on its server); for curl's leave it out (HTTP)\nas one command: ftpfetch ftp://h/f"},
		{"-A *.gz,*.txt -r ftp://h/d/", "unknown flag -A: for wget's write --accept GLOB (in trees); for curl's leave it out (HTTP)\nas wget's one command: ftpfetch --accept '{*.gz,*.txt}' -r ftp://h/d/\nas curl's one command: ftpfetch -r ftp://h/d/"},
		{"-F x=1 ftp://h/f", `unknown flag -F: for wget's nothing does that here (HTML); for curl's nothing does that here (HTTP); for lftp's nothing does that here (-r fetches the directory of a URL)`},
		{"-X /a,/b -r ftp://h/d/", "unknown flag -X: for wget's write --reject GLOB (in trees); for curl's leave it out (HTTP); for lftp's write --reject GLOB (in trees)\nas wget's one command: ftpfetch --reject '{/a,/b}' -r ftp://h/d/\nas curl's one command: ftpfetch -r ftp://h/d/"},
		{"-e x ftp://h/f", "unknown flag -e: for wget's leave it out (no settings); for curl's leave it out (HTTP); for lftp's nothing does that here (it deletes)\nas one command: ftpfetch ftp://h/f"},
		{"--exclude x", `unknown flag --exclude: for lftp's write --reject GLOB (in trees)`},
		{"-P dir --tries 3 -q -O f.gz -zzz ftp://h/f", "unknown flag -P: for wget's write -d DIR; for curl's write --mode active; for aria2's nothing does that here (the shell takes {1..9}); for lftp's write -j N\nunknown flag --tries: for wget's and curl's and aria2's write --retries N (besides the first try)\nunknown flag -O: for wget's write -o FILE; for curl's leave it out (a file gets its own name); for aria2's nothing does that here (BitTorrent); for lftp's write -d DIR\nunknown flag -z: for curl's write -N"},
		{"-P dir --tries 3 -q --progress-bar ftp://me:secret@h/f", "unknown flag -P: for wget's write -d DIR; for curl's write --mode active; for aria2's nothing does that here (the shell takes {1..9}); for lftp's write -j N\nunknown flag --tries: for wget's and curl's and aria2's write --retries N (besides the first try)\nunknown flag --progress-bar: write --progress bar\nas one command: ftpfetch -d dir --retries 3 -q --progress bar URL"},
		{"--no-check-certificate --proxy http://me:secret@h:1 ftp://h/f", "unknown flag --no-check-certificate: write --insecure\nas one command: ftpfetch --insecure --proxy URL ftp://h/f"},
		{"-k ftp://h/f", "unknown flag -k: for curl's write --insecure; for wget's nothing does that here (HTML); for aria2's leave it out (automatic)\nas curl's one command: ftpfetch --insecure ftp://h/f\nas aria2's one command: ftpfetch ftp://h/f"},
		{"--tpye a --retires 3 ftp://h/f", "unknown flag --tpye: perhaps --type\nunknown flag --retires: perhaps --retries\nas one command: ftpfetch --type a --retries 3 ftp://h/f"},
		{"-Z ftp://h/a ftp://h/b", "unknown flag -Z: for curl's write -j 4; for aria2's leave it out (the default)\nas curl's one command: ftpfetch -j 4 ftp://h/a ftp://h/b\nas aria2's one command: ftpfetch ftp://h/a ftp://h/b"},
		{"--socks5 h:1 --ftp-passwd secret -u me ftp://h/f", "unknown flag --socks5: for curl's write --proxy socks5://ADDR\nunknown flag --ftp-passwd: write --password-stdin (with -u NAME)\nas one command: ftpfetch --proxy socks5://ADDR --password-stdin -u 'NAME[:PASSWORD]' ftp://h/f"},
	}
	for _, tt := range tests {
		_, err := Parse(strings.Fields(tt.args))
		if got := strings.TrimSuffix(fmt.Sprint(err), "\nno URL given: write ftpfetch ftp://host/path/file"); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

// newcomers are the commonest commands of the four programs, and what they should
// have been.
var newcomers = []struct{ typed, want string }{
	{"wget URL/file", "URL/file"},
	{"wget -c URL/file", "-c URL/file"},
	{"wget -O copy URL/file", "-o copy URL/file"},
	{"wget -qO- URL/file", "-q -o - URL/file"},
	{"wget -nv -P dir URL/file", "--progress plain -d dir URL/file"},
	{"wget -r -np -nH --cut-dirs=1 URL/tree/", "-r URL/tree/"},
	{"wget -m -nd URL/tree/", "-r -N URL/tree/"},
	{"wget -i urls", "-i urls"},
	{"wget -c -N -t 5 -T 30 URL/file", "-c -N --retries 5 --timeout 30 URL/file"},
	{"wget --user=me --password=secret URL/private", "-u NAME[:PASSWORD] --password-stdin URL/private"},
	{"curl -O URL/file", "URL/file"},
	{"curl -fsSLO URL/file", "-q URL/file"},
	{"curl -o copy URL/file", "-o copy URL/file"},
	{"curl -s -o copy URL/file", "-q -o copy URL/file"},
	{"curl -C - -O URL/file", "-c URL/file"},
	{"curl -u me:secret -O URL/private", "-u NAME[:PASSWORD] URL/private"},
	{"curl -l URL/tree/", "-l URL/tree/"},
	{"curl -I URL/file", "-I URL/file"},
	{"curl --retry 5 --connect-timeout 9 -O URL/file", "--retries 5 --connect-timeout 9 URL/file"},
	{"curl --create-dirs --output-dir dir -O URL/file", "-d dir URL/file"},
	{"aria2c URL/file", "URL/file"},
	{"aria2c -x4 -s4 URL/file", "-s 4 URL/file"},
	{"aria2c -d dir -o copy URL/file", "-d dir -o copy URL/file"},
	{"aria2c -c URL/file", "-c URL/file"},
	{"aria2c -i urls -j 3", "-i urls -j 3"},
	{"aria2c -Z URL/file URL/other", "URL/file URL/other"},
	{"aria2c --max-tries=5 --retry-wait=3 URL/file", "--retries 5 URL/file"},
	{"aria2c --allow-overwrite=true -q URL/file", "--overwrite -q URL/file"},
	{"aria2c --ftp-user=me --ftp-passwd=secret URL/private", "-u NAME --password-stdin URL/private"},
	{"aria2c --max-download-limit=1M -k 1M URL/file", "--limit-rate 1M URL/file"},
	{"lftp get URL/file", "URL/file"},
	{"lftp get -c URL/file -o copy", "-c URL/file -o copy"},
	{"lftp get -O dir URL/file", "-d dir URL/file"},
	{"lftp pget -n 4 URL/file", "-s 4 URL/file"},
	{"lftp pget -c -n 4 -O dir URL/file", "-c -s 4 -d dir URL/file"},
	{"lftp mget -P 3 URL/*.txt", "--glob -j 3 URL/*.txt"},
	{"lftp mget URL/tree/*.txt", "--glob URL/tree/*.txt"},
	{"lftp mirror URL/tree", "-r URL/tree"},
	{"lftp mirror --parallel=3 --only-newer URL/tree/", "-r -N -j 3 URL/tree/"},
	{"lftp -u me,secret get URL/private", "-u NAME[:PASSWORD] URL/private"},
}

// TestNewcomers types each command with ftpfetch in place of the program's name. The
// right one must come of it, or be proposed.
func TestNewcomers(t *testing.T) {
	for _, c := range newcomers {
		args := strings.Fields(strings.ReplaceAll(c.typed, "URL", "ftp://host"))[1:]
		got := args
		if _, err := Parse(args); err != nil {
			program, _, _ := strings.Cut(strings.ReplaceAll(c.typed, "aria2c", "aria2"), " ")
			_, proposed, _ := strings.Cut(strings.ReplaceAll(err.Error(), "as "+program+"'s one", "as one"), "as one command: ftpfetch ")
			got = strings.Fields(strings.ReplaceAll(strings.SplitN(proposed, "\n", 2)[0], "'", ""))
		}
		want := strings.Fields(strings.ReplaceAll(c.want, "URL", "ftp://host"))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			_, err := Parse(args)
			t.Errorf("%s: got %q, want %q: %v", c.typed, got, want, err)
		}
	}
}

const comingFromFile = "../../../docs/coming-from.md"

// TestComingFrom checks that docs/coming-from.md is what the table says.
func TestComingFrom(t *testing.T) {
	want := comingFromHead
	for _, h := range habits {
		want += "    " + h.flags + "  " + strings.NewReplacer("any: ", "", "any ", "", " | ", "; ").Replace(h.means) + "\n"
	}
	if *update {
		if err := os.WriteFile(comingFromFile, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(comingFromFile)
	if err != nil || string(got) != want {
		t.Errorf("docs/coming-from.md is not what the table says (%v): go test ./internal/cli/config -run TestComingFrom -update", err)
	}
}

const comingFromHead = `# Coming from wget, curl, aria2 or lftp

A file that exists is an error (` + "`--overwrite`, `--no-clobber` or `-N`" + ` say what to do), a file that an earlier run left unfinished is resumed
without a flag, and a URL without a user means the anonymous login (` + "`-n`" + ` takes the user from the netrc file).

Another program's flag ends the run before anything is sent. The message says what each program's users write instead, and then the whole
command. Here is the table that it is made from (internal/cli/habits.go): the flags, whose they are, and what to write. "drop": it is not
needed. "no": nothing does that here.

`
