package cli

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/testserver"
)

// newcomer is a command line as a user of another program types it, and what it
// should have been.
type newcomer struct {
	program string
	typed   string // with its program's name, and for lftp its command
	want    string // the arguments that get the same
}

// newcomers are the commonest commands of the four programs.
var newcomers = []newcomer{
	{"wget", "wget URL/file", "URL/file"},
	{"wget", "wget -c URL/file", "-c URL/file"},
	{"wget", "wget -O copy URL/file", "-o copy URL/file"},
	{"wget", "wget -qO- URL/file", "-q -o - URL/file"},
	{"wget", "wget -nv -P dir URL/file", "--progress plain -d dir URL/file"},
	{"wget", "wget -r -np -nH --cut-dirs=1 URL/tree/", "-r URL/tree/"},
	{"wget", "wget -m -nd URL/tree/", "-r -N URL/tree/"},
	{"wget", "wget -i urls", "-i urls"},
	{"wget", "wget -c -N -t 5 -T 30 URL/file", "-c -N --retries 5 --timeout 30 URL/file"},
	{"wget", "wget --user=me --password=secret URL/private", "--user=me --password-stdin URL/private"},
	{"curl", "curl -O URL/file", "URL/file"},
	{"curl", "curl -fsSLO URL/file", "-q URL/file"},
	{"curl", "curl -o copy URL/file", "-o copy URL/file"},
	{"curl", "curl -s -o copy URL/file", "-q -o copy URL/file"},
	{"curl", "curl -C - -O URL/file", "-c URL/file"},
	{"curl", "curl -u me:secret -O URL/private", "-u me:secret URL/private"},
	{"curl", "curl -l URL/tree/", "URL/tree/"},
	{"curl", "curl -I URL/file", "-I URL/file"},
	{"curl", "curl --retry 5 --connect-timeout 9 -O URL/file", "--retries 5 --connect-timeout 9 URL/file"},
	{"curl", "curl --create-dirs --output-dir dir -O URL/file", "-d dir URL/file"},
	{"aria2", "aria2c URL/file", "URL/file"},
	{"aria2", "aria2c -x4 -s4 URL/file", "-s 4 URL/file"},
	{"aria2", "aria2c -d dir -o copy URL/file", "-d dir -o copy URL/file"},
	{"aria2", "aria2c -c URL/file", "-c URL/file"},
	{"aria2", "aria2c -i urls -j 3", "-i urls -j 3"},
	{"aria2", "aria2c -Z URL/file URL/other", "URL/file URL/other"},
	{"aria2", "aria2c --max-tries=5 --retry-wait=3 URL/file", "--retries=5 URL/file"},
	{"aria2", "aria2c --allow-overwrite=true -q URL/file", "--overwrite -q URL/file"},
	{"aria2", "aria2c --ftp-user=me --ftp-passwd=secret URL/private", "--user=me --password-stdin URL/private"},
	{"aria2", "aria2c --max-download-limit=1M -k 1M URL/file", "--limit-rate=1M URL/file"},
	{"lftp", "lftp get URL/file", "URL/file"},
	{"lftp", "lftp get -c URL/file -o copy", "-c URL/file -o copy"},
	{"lftp", "lftp get -O dir URL/file", "-d dir URL/file"},
	{"lftp", "lftp pget -n 4 URL/file", "-s 4 URL/file"},
	{"lftp", "lftp pget -c -n 4 -O dir URL/file", "-c -s 4 -d dir URL/file"},
	{"lftp", "lftp mget -P 3 URL/*.txt", "--glob -j 3 URL/*.txt"},
	{"lftp", "lftp mget URL/tree/*.txt", "--glob URL/tree/*.txt"},
	{"lftp", "lftp mirror URL/tree", "-r URL/tree/"},
	{"lftp", "lftp mirror --parallel=3 --only-newer URL/tree/", "-r -N -j 3 URL/tree/"},
	{"lftp", "lftp -u me,secret get URL/private", "-u me:secret URL/private"},
}

// TestNewcomers types each command with ftpfetch in place of the program's name.
// It must get the file, or a message; then the line that the message proposes is
// run, until one gets what the right command gets.
func TestNewcomers(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Users: map[string]string{"me": "secret"}, Home: map[string]string{"me": "/home"}, Tree: map[string]string{
		"/file": "contents", "/other": "more", "/a.txt": "a", "/tree/b.txt": "b", "/tree/in/c": "c", "/home/private": "mine",
	}})
	for _, c := range newcomers {
		t.Run(c.typed, func(t *testing.T) {
			in := &newcomerShell{t: t, url: strings.TrimSuffix(s.URL("/"), "/"), program: c.program}
			want, wantOut := in.run(in.args(c.want))
			if in.code != exitOK {
				t.Fatalf("%s: exit %d, %s", c.want, in.code, in.message)
			}
			args := in.args(c.typed)[1:]
			for range 10 {
				got, out := in.run(args)
				if in.code == exitOK {
					if !maps.Equal(got, want) || (out == "") != (wantOut == "") {
						t.Errorf("%q got %v and %q, want %v and %q", args, got, out, want, wantOut)
					}
					return
				}
				args = in.follow(args)
			}
			t.Errorf("no way to success: %s", in.message)
		})
	}
}

// newcomerShell runs commands, each in a new directory, and follows their messages.
type newcomerShell struct {
	t            *testing.T
	url, program string
	stdin        string
	code         int
	message      string
}

// args splits a command line and fills in the server's address.
func (x *newcomerShell) args(line string) []string {
	return strings.Fields(strings.ReplaceAll(line, "URL", x.url))
}

// run runs the command and returns the files that it leaves and its output.
func (x *newcomerShell) run(args []string) (files map[string]string, out string) {
	x.t.Helper()
	x.t.Chdir(x.t.TempDir())
	if err := os.WriteFile("urls", []byte(x.url+"/file\n"+x.url+"/other\n"), 0o666); err != nil {
		x.t.Fatal(err)
	}
	in := x.stdin
	if in == "" {
		in = "secret\n"
	}
	var stdout, stderr bytes.Buffer
	x.code = Run(x.t.Context(), args, IO{In: strings.NewReader(in), Out: &stdout, Err: &stderr})
	x.message = stderr.String()
	files = make(map[string]string)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && d.Name() != batch.LedgerName {
			text, rerr := os.ReadFile(path)
			files[path], err = string(text), rerr
		}
		return err
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return files, stdout.String()
}

var (
	named    = regexp.MustCompile(`^ftpfetch: (?:unknown flag )?(--?[a-zA-Z#:][a-zA-Z-]*|m?p?get|mirror)[ :]`)
	leaveOut = regexp.MustCompile(`^[^(]*leave it out`)
	proposed = regexp.MustCompile(`write ([^(;]*[^(; ])`)
)

// follow returns args as the message says to write them.
func (x *newcomerShell) follow(args []string) []string {
	x.t.Helper()
	args = slices.Clone(args)
	last := len(args) - 1
	message, _, _ := strings.Cut(x.message, "; try ftpfetch --help")
	switch found := named.FindStringSubmatch(message); {
	case strings.Contains(message, `end the URL in "/"`):
		args[last] += "/"
	case strings.Contains(message, "(--glob takes"):
		args = append([]string{"--glob"}, args...)
	case strings.Contains(message, "with a colon"):
		args[1] = strings.Replace(args[1], ",", ":", 1)
	case found != nil:
		return x.replace(args, found[1], message[len(found[0]):])
	default:
		x.t.Fatalf("%q: the message proposes nothing: %s", args, x.message)
	}
	return args
}

// replace replaces a flag, and its value, by what the message says about it.
func (x *newcomerShell) replace(args []string, flag, message string) []string {
	x.t.Helper()
	if _, ours, found := strings.Cut(message, "for "+x.program+"'s "); found {
		message = ours
	}
	message, _, _ = strings.Cut(message, "; for ")
	i := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag) })
	end, value := i+1, ""
	if i < 0 {
		x.t.Fatalf("%q: the message speaks of %s: %s", args, flag, x.message)
	}
	if x.takesValue(flag) {
		_, value, _ = strings.Cut(args[i], "=")
		if inline := args[i][len(flag):]; value == "" && inline != "" {
			value = inline
		}
		if value == "" && end < len(args) {
			value = args[end]
			end++
		}
	}
	var words []string
	if write := proposed.FindStringSubmatch(message); leaveOut.MatchString(message) {
	} else if write != nil {
		words = strings.Fields(write[1])
	} else {
		x.t.Fatalf("%q: the message proposes nothing: %s", args, x.message)
	}
	for j, word := range words {
		if j > 0 && word == strings.ToUpper(word) && word[0] >= 'A' {
			words[j] = value
		}
	}
	return slices.Concat(args[:i], words, args[end:])
}

// takesValue reports whether the flag, or the last of letters that stand
// together, has a value in the program.
func (x *newcomerShell) takesValue(flag string) bool {
	p := programs[slices.IndexFunc(programs, func(p program) bool { return p.name == x.program })]
	if f, ok := p.lookup(flag); ok {
		return f.value != ""
	}
	flags, _, ok := p.bundle(strings.TrimLeft(flag, "-"))
	return ok && flags[len(flags)-1].value != ""
}
