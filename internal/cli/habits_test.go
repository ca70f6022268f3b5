package cli

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// allFlags returns every flag of the command.
func allFlags() *pflag.FlagSet {
	all := newGroup("all")
	for _, g := range new(options).groups() {
		all.AddFlagSet(g.FlagSet)
	}
	return all.FlagSet
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

// TestHabitsAreComplete finds every option of the four programs in the table, and
// no option twice.
func TestHabitsAreComplete(t *testing.T) {
	for _, p := range programs {
		seen := make(map[string]bool)
		for _, h := range p.habits {
			for _, s := range h.spellings() {
				if seen[s.name] || !strings.HasPrefix(s.name, "-") && strings.Contains(s.name, "-") || s.value != strings.ToUpper(s.value) && s.name != "--checksum" {
					t.Errorf("%s: %q stands twice, or is malformed", p.name, s)
				}
				seen[s.name] = true
			}
		}
		if p.name == "" {
			continue
		}
		for _, name := range optionsOf(t, p.name) {
			if !seen[name] {
				t.Errorf("%s: no row for %s", p.name, name)
			}
		}
	}
}

// TestNoMisleadingSuggestion gives the options of the four programs, and English
// words that differ from a flag in one letter, as unknown flags. None may be taken
// for a misspelt flag.
func TestNoMisleadingSuggestion(t *testing.T) {
	all := allFlags()
	var words []string
	for _, p := range programs[:4] {
		for _, name := range optionsOf(t, p.name) {
			words = append(words, strings.TrimLeft(name, "-"))
		}
	}
	words = append(words, strings.Fields("retort import export bast lase tips glow bond tape mark port short sort mobs lobs slum song dig fir out for tin kay bit infer grief")...)
	for _, word := range words {
		if all.Lookup(word) != nil {
			continue
		}
		if got := instead("--", word, all); strings.Contains(got, "perhaps") {
			t.Errorf("--%s%s", word, got)
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

// examples are values for the placeholders of the table.
var examplesOf = map[string]string{
	"FILE": "f", "DIR": "d", "N": "3", "TIME": "7s", "RATE": "9K", "GLOB": "*.gz", "ADDR": "127.0.0.1", "URL": "http://h:1", "NAME": "me",
	"ALGO:HEX": "md5:00000000000000000000000000000000", "sha256:HEX": "sha256:" + strings.Repeat("0", 64), "socks5://ADDR": "socks5://h:1",
}

// effects says what each proposal of the table does: the fields of options that
// differ from the default.
var effects = map[string]string{
	"-o FILE": "output=f", "-d DIR": "dir=d", "--no-clobber": "file.Existing=2", "-c": "file.Continue=true", "-N": "file.Newer=true",
	"-i FILE": "input=f", "-r": "recursive=true", "--depth N": "tree.Depth=3", "-r -N": "recursive=true file.Newer=true",
	"--accept GLOB": "tree.Accept=[*.gz]", "--reject GLOB": "tree.Reject=[*.gz]", "--follow-links": "tree.FollowLinks=true",
	"-q": "quiet=true", "--progress plain": "progress=plain", "--progress bar": "progress=bar", "--progress json": "progress=json",
	"--progress none": "progress=none", "-v": "verbose=true", "-I": "info=true", "--version": "version=true", "--help": "help=true", "--man": "man=true",
	"--retries N": "file.Retries=3", "--retry-connrefused": "file.RetryConnect=true", "--timeout TIME": "client.ReplyTimeout=7s", "--connect-timeout TIME": "client.ConnectTimeout=7s",
	"--limit-rate RATE": "limitRate=9216", "-4": "client.Network=tcp4", "-6": "client.Network=tcp6", "--bind ADDR": "client.LocalAddr=127.0.0.1",
	"--proxy none": "proxy=none", "--active": "client.Active=true", "--user NAME": "user=me", "-u NAME": "user=me",
	"--password-stdin": "passwordStdin=true", "--no-netrc": "noNetrc=true", "--tls implicit": "tls=implicit", "--tls try": "tls=try",
	"--tls explicit": "tls=explicit", "--insecure": "insecure=true", "--cacert FILE": "caCert=f", "--cert FILE": "clientCert=f", "--key FILE": "certKey=f",
	"--type a": "typecode=a", "--no-resume": "file.NoResume=true", "--max-time TIME": "maxTime=7s", "-Y RATE": "client.LeastRate=9216",
	"-y TIME": "client.LeastTime=7s", "--speed-limit RATE": "client.LeastRate=9216", "-j N": "jobs=3 perHost=3", "-j auto": "jobs=0", "--no-epsv": "client.NoEPSV=true",
	"--account NAME": "account=me", "-n": "useNetrc=true", "--netrc-file FILE": "netrcFile=f", "--proxy-get": "proxyGet=true", "--proxy URL": "proxy=http://h:1",
	"--proxy socks5://ADDR": "proxy=socks5://h:1", "--checksum sha256:HEX": "file.Sum=sha256:" + strings.Repeat("0", 64),
	"--checksum ALGO:HEX": "file.Sum=md5:" + strings.Repeat("0", 32), "--verify": "file.Verify=true", "--overwrite": "file.Existing=1", "-s N": "file.Segments=3", "-s 4": "file.Segments=4",
	"-r --no-clobber": "recursive=true file.Existing=2", "--depth 1": "tree.Depth=1", "--glob": "glob=true", "--dry-run": "dryRun=true", "-o -": "output=-",
}

// companions are flags without which a proposal is refused; the table's notes
// name them.
var companions = map[string]string{
	"--depth": "-r", "--accept": "-r", "--reject": "-r", "--follow-links": "-r", "--key": "--cert f", "--proxy-get": "--proxy http://h:1", "--password-stdin": "-u me",
}

// TestHabitsAreTrue parses what each row of the table proposes, and looks up
// whether the run's options then say what the row promises.
func TestHabitsAreTrue(t *testing.T) {
	used := make(map[string]bool)
	for _, p := range programs {
		for _, h := range p.habits {
			if h.write == needless || h.write == lacking || strings.HasPrefix(h.write, "2>") {
				checkNote(t, p.name, h)
				continue
			}
			used[h.write] = true
			want, ok := effects[h.write]
			if !ok {
				t.Errorf("%s %s: nothing says what %s does", p.name, h.flags, h.write)
			}
			for field := range strings.SplitSeq(want, " ") {
				name, value, _ := strings.Cut(field, "=")
				if got := fieldOf(t, h.write, name); got != value {
					t.Errorf("%s %s: %s makes %s %s, want %s", p.name, h.flags, h.write, name, got, value)
				}
			}
			checkNote(t, p.name, h)
		}
	}
	for write := range effects {
		if !used[write] {
			t.Errorf("no row proposes %s", write)
		}
	}
}

// fieldOf parses a proposal, with examples as values, and returns a field of the
// options.
func fieldOf(t *testing.T, write, field string) string {
	t.Helper()
	words := strings.Fields(write)
	for i, word := range words {
		if value := examplesOf[word]; value != "" && i > 0 {
			words[i] = value
		}
	}
	args := append(slices.Clone(words), strings.Fields(companions[words[0]])...)
	if write != "-i FILE" {
		args = append(args, "ftp://h/f")
	}
	o, err := parseArgs(args)
	if err != nil {
		t.Errorf("%q: %v", args, err)
		return ""
	}
	v := reflect.ValueOf(o).Elem()
	for name := range strings.SplitSeq(field, ".") {
		v = reflect.Indirect(v.FieldByName(name))
	}
	if s, ok := reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem().Interface().(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprint(v)
}

// checkNote looks up the flags that a note names.
func checkNote(t *testing.T, program string, h habit) {
	t.Helper()
	all := allFlags()
	for word := range strings.FieldsSeq(h.note) {
		word = strings.Trim(word, ":;,.")
		if strings.HasPrefix(word, "-") && lookup(all, word) == nil && abroadIn(program, word) == nil {
			t.Errorf("%s %s: the note names %s", program, h.flags, word)
		}
	}
}

func abroadIn(program, name string) []foreign {
	return slices.DeleteFunc(abroad(name), func(f foreign) bool { return f.program != program })
}

// TestHabitsWithoutNeed checks that what nothing does here is no flag of the
// command.
func TestHabitsWithoutNeed(t *testing.T) {
	all := allFlags()
	for _, p := range programs {
		for _, h := range p.habits {
			for _, s := range h.spellings() {
				if f := lookup(all, s.name); f != nil && h.write == lacking && len(s.name) > 2 && s.name != "--base" {
					t.Errorf("%s %s: it is a flag of the command", p.name, s.name)
				}
			}
		}
	}
}
