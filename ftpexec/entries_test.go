package ftpexec_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// entriesOf returns the entries of a directory as text, "d name" or "- name 12", and the errors.
func entriesOf(ctx context.Context, s dirReader, u *urlparse.URL) (entries []string, lines []error, err error) {
	for e, err := range s.Entries(ctx, u) {
		switch {
		case errors.Is(err, ftpexec.ErrLine):
			lines = append(lines, err)
		case err != nil:
			return entries, lines, err
		case e.Size >= 0:
			entries = append(entries, fmt.Sprintf("%.1s %s %d", e.Mode.Type(), e.Name, e.Size))
		default:
			entries = append(entries, fmt.Sprintf("%.1s %s", e.Mode.Type(), e.Name))
		}
	}
	return entries, lines, nil
}

type dirReader interface {
	Entries(context.Context, *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// listings returns the commands among those received that list a directory.
func listings(commands []string) []string {
	return slices.DeleteFunc(slices.Clone(commands), func(line string) bool {
		verb, _, _ := strings.Cut(line, " ")
		return !slices.Contains([]string{"MLSD", "LIST", "NLST"}, verb)
	})
}

// line is a line of LIST about the file name, of 7 bytes.
func line(name string) string {
	return "-rw-r--r--    1 0        0               7 Jan 02  2003 " + name + "\r\n"
}

// own is what LIST -a says about the directory itself.
const own = "drwxr-xr-x    2 0        0            4096 Jan 02  2003 .\r\ndrwxr-xr-x    2 0        0            4096 Jan 02  2003 ..\r\n"

// The ways to list a directory, the most informative first. The second directory is listed by the right way at once.
func TestEntriesWays(t *testing.T) {
	const ab, unread = "- a 7,- b 7", "a\r\nb\r\n"
	mlsd, all, plain := "MLSD", "^LIST -a$", "^LIST$"
	gone := func(match string, code int) testserver.Step {
		return testserver.On(match, testserver.Reply(fmt.Sprint(code, " No.")))
	}
	gives := func(match, data string) testserver.Step { return testserver.On(match, testserver.Transfer(data)) }
	type test struct {
		name          string
		steps         []testserver.Step
		want          string
		first, second string // the commands
	}
	tests := []test{
		{"MLSD", []testserver.Step{gives(mlsd, "type=cdir; .\r\ntype=file;size=7; a\r\ntype=dir; b\r\n")}, "- a 7,d b", "MLSD", "MLSD"},
		{"MLSD of an empty directory", []testserver.Step{gives(mlsd, "")}, "", "MLSD", "MLSD"},
		{"MLSD that makes no sense", []testserver.Step{gives(mlsd, "a\r\nb\r\n"), gives(all, own+line("a")+line("b"))}, ab, "MLSD,LIST -a", "LIST -a"},
		{"LIST -a of an empty directory", []testserver.Step{gives(all, own), gone(plain, 550)}, "", "MLSD,LIST -a", "LIST -a"},
		{"LIST -a empty", []testserver.Step{gives(all, ""), gives(plain, line("a")+line("b"))}, ab, "MLSD,LIST -a,LIST", "LIST"},
		{"LIST -a lists a file of that name", []testserver.Step{gives(all, line("-a")), gives(plain, line("-a")+line("b"))}, "- -a 7,- b 7", "MLSD,LIST -a,LIST", "LIST"},
		{"LIST -a makes no sense", []testserver.Step{gives(all, unread), gives(plain, line("a")+line("b"))}, ab, "MLSD,LIST -a,LIST", "LIST"},
		{"both empty", []testserver.Step{gives(all, ""), gives(plain, ""), gives("NLST", "")}, "", "MLSD,LIST -a,LIST,NLST", "LIST -a,LIST,NLST"},
		{"both empty, NLST refused", []testserver.Step{gives(all, ""), gives(plain, ""), gone("NLST", 550)}, "", "MLSD,LIST -a,LIST,NLST", "LIST -a,LIST,NLST"},
		{"both empty, because there is no ls", []testserver.Step{gives(all, ""), gives(plain, ""), gives("NLST", "a\r\nb\r\n")}, "? a,? b", "MLSD,LIST -a,LIST,NLST", "NLST"},
		{"only a sum", []testserver.Step{gives(all, "total 0\r\n")}, "", "MLSD,LIST -a", "LIST -a"},
		{"no LIST makes sense", []testserver.Step{gives(all, unread), gives(plain, unread)}, "? a,? b", "MLSD,LIST -a,LIST,NLST", "LIST -a,LIST,NLST"},
		{"no files, by a 450", []testserver.Step{gone(all, 450), testserver.On(plain, testserver.Reply("450 No files found"))}, "", "MLSD,LIST -a,LIST", "LIST -a,LIST"},
		{"no files, by a 550", []testserver.Step{testserver.On(mlsd, testserver.Reply("550 No files found."))}, "", "MLSD", "MLSD"},
		{"no such file, but files", []testserver.Step{testserver.On(mlsd, testserver.Reply("550 No such file or directory")), gives(all, own+line("a")+line("b"))}, ab, "MLSD,LIST -a", "LIST -a"},
		{"no such file, but nothing", []testserver.Step{testserver.On(mlsd, testserver.Reply("550 d: No such file or directory")), gives(all, own)}, "", "MLSD,LIST -a", "LIST -a"},
		{"226 before 150", []testserver.Step{testserver.On(mlsd, testserver.Reply("226 Done."), testserver.Data("", testserver.Closed))}, "", "MLSD", "MLSD"},
	}
	for _, code := range []int{500, 501, 502, 504} {
		tests = append(tests, test{fmt.Sprintf("MLSD %d", code), []testserver.Step{gone(mlsd, code), gives(all, own+line("a")+line("b"))}, ab, "MLSD,LIST -a", "LIST -a"},
			test{fmt.Sprintf("LIST %d", code), []testserver.Step{gone(all, code), gone(plain, code)}, "? a,? b", "MLSD,LIST -a,LIST,NLST", "NLST"})
	}
	for _, code := range []int{450, 500, 501, 502, 503, 504, 530, 550, 551, 552, 553} {
		tests = append(tests, test{fmt.Sprintf("LIST -a %d", code), []testserver.Step{gone(all, code), gives(plain, line("a")+line("b"))}, ab, "MLSD,LIST -a,LIST", "LIST"},
			test{fmt.Sprintf("LIST -a %d, empty", code), []testserver.Step{gone(all, code), gives(plain, ""), gives("NLST", "")}, "", "MLSD,LIST -a,LIST,NLST", "LIST -a,LIST,NLST"})
	}
	for _, code := range []int{503, 530, 550, 551, 552, 553} {
		tests = append(tests, test{fmt.Sprintf("LIST %d", code), []testserver.Step{gone(all, code), gone(plain, code)}, "? a,? b", "MLSD,LIST -a,LIST,NLST", "LIST -a,LIST,NLST"})
	}
	for _, test := range tests {
		for _, sequential := range []bool{false, true} {
			inMemory(t, func(t *testing.T, network *ftptest.Network) {
				s := network.NewScript(t, append([]testserver.Step{testserver.Honest("")}, test.steps...)...)
				c := &ftpexec.Client{MaxIdle: -1, Dial: network.Dial, NoPipelining: sequential}
				for i, want := range []string{test.first, test.second} {
					got, lines, err := entriesOf(t.Context(), c, parse(t, s.URL("/d/")))
					if err != nil || len(lines) > 0 || strings.Join(got, ",") != test.want {
						t.Errorf("%s: got %q, %v, %v, want %q", test.name, got, lines, err, test.want)
					}
					if sent := strings.Join(listings(s.Commands(i+1)), ","); sent != want { // on one connection for each directory
						t.Errorf("%s: sent %s, want %s", test.name, sent, want)
					}
				}
			})
		}
	}
}

// After LIST -a has listed something on a host, an empty LIST -a is an empty directory.
func TestEntriesTrustsWhatWorked(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("").With("LIST", testserver.Transfer("")), testserver.OnConn(1, testserver.On("LIST", testserver.Transfer(line("a")))))
	c := &ftpexec.Client{MaxIdle: -1}
	for range 2 {
		if _, _, err := entriesOf(t.Context(), c, parse(t, s.URL("/d/"))); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := listings(s.Commands()), []string{"MLSD", "LIST -a", "LIST -a"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

// Every other refusal is an error, and no entry comes with it.
func TestEntriesRefused(t *testing.T) {
	refusals := map[string][]string{
		"MLSD":    {"425", "426", "450", "451", "452", "503", "522", "530", "532", "533", "534", "550", "551", "552", "553"},
		"LIST -a": {"425", "426", "451", "452", "521", "522", "530 too many users:", "532", "533", "534", "535", "536"},
		"LIST":    {"425", "426", "450", "451", "452", "522", "534"},
		"NLST":    {"425", "426", "450", "451", "452", "500", "502", "530", "550"},
		"CWD":     {"421", "450", "500", "550"},
		"TYPE":    {"504"},
		"PASV":    {"425", "530"},
	}
	for command, codes := range refusals {
		for _, code := range codes {
			for _, when := range []string{"at once", "after 150", "after data"} {
				transfer := slices.Contains([]string{"MLSD", "LIST -a", "LIST", "NLST"}, command)
				actions := []testserver.Action{testserver.Reply(code + " No.")}
				switch {
				case when != "at once" && !transfer:
					continue
				case when == "after 150":
					actions = slices.Concat([]testserver.Action{testserver.Reply("150 x"), testserver.Data("", testserver.Closed)}, actions)
				case when == "after data":
					actions = slices.Concat([]testserver.Action{testserver.Reply("150 x"), testserver.Data("type=file; a\r\n"+line("a"), testserver.Closed)}, actions)
				}
				match := "^" + command + "( d)?$"
				if command == "TYPE" {
					match = command
				}
				inMemory(t, func(t *testing.T, network *ftptest.Network) {
					steps := []testserver.Step{testserver.Honest(""), testserver.On(match, actions...)}
					if command == "PASV" {
						steps = append(steps, testserver.On("EPSV", testserver.Reply("500 No.")))
					}
					s := network.NewScript(t, steps...)
					got, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}, parse(t, s.URL("/d/")))
					if e := (*ftpexec.Error)(nil); !errors.As(err, &e) || len(got) > 0 || len(lines) > 0 {
						t.Errorf("%s, %s %s: got %q, %v, %v, want an *Error and nothing else", command, code, when, got, lines, err)
					}
				})
			}
		}
	}
}

// A server that refuses a listing after its 150 loses the connection, but not the listing.
func TestEntriesRefusedAfter150(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("502 No.")),
		testserver.On("^LIST -a$", testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("550 -a: No such file")),
		testserver.On("^LIST$", testserver.Transfer(line("a"))))
	got, _, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
	if err != nil || !slices.Equal(got, []string{"- a 7"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// If the server refuses all ways, the error says why it refused LIST, even if NLST then lists nothing. An unreadable
// directory is not an empty one.
func TestEntriesDenied(t *testing.T) {
	for name, steps := range map[string][]testserver.Step{
		"550":                  {testserver.On("LIST", testserver.Reply("550 Permission denied")), testserver.On("NLST", testserver.Reply("550 x"))},
		"550, an empty NLST":   {testserver.On("LIST", testserver.Reply("550 Permission denied")), testserver.On("NLST", testserver.Transfer(""))},
		"550, an empty LIST":   {testserver.On("LIST", testserver.Transfer("")), testserver.On("NLST", testserver.Reply("550 .: Permission denied."))},
		"550 to MLSD":          {testserver.On("MLSD", testserver.Reply("550 No such file or directory")), testserver.On("LIST", testserver.Transfer("")), testserver.On("NLST", testserver.Transfer(""))},
		"550 to all":           {testserver.On("MLSD", testserver.Reply("550 No such file")).With("LIST", testserver.Reply("550 No such file")).With("NLST", testserver.Reply("550 No such file"))},
		"a name":               {testserver.On("LIST", testserver.Reply("550 /x/no files found: Permission denied")), testserver.On("NLST", testserver.Reply("550 /x/no files found: Permission denied"))},
		"no reply of a server": {testserver.On("LIST", testserver.Reply("550 disk full, empty the trash")), testserver.On("NLST", testserver.Reply("550 no files found; try again"))},
		"vsftpd":               {testserver.On("LIST", testserver.Reply("150 x"), testserver.Data("", testserver.Closed), testserver.Reply("226 Transfer done (but failed to open directory)."))},
	} {
		s := testserver.New(t, nil, append([]testserver.Step{testserver.Honest("")}, steps...)...)
		got, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
		if !errors.Is(err, ftpexec.ErrRefused) || len(got) > 0 || len(lines) > 0 {
			t.Errorf("%s: got %q, %v, %v, want ErrRefused", name, got, lines, err)
		}
	}
}

// After an MLSD that cannot be read or is refused, a LIST without any entry does not prove that the directory is empty.
// Only LIST's own "." does.
func TestEntriesUnreadIsNotEmpty(t *testing.T) {
	odd := testserver.On("MLSD", testserver.Transfer("who knows\r\n"))
	denied := testserver.On("MLSD", testserver.Reply("550 No such file or directory"))
	for _, text := range []string{"", "total 0\r\n", "\r\n", "total 0\n", "\n", " \r\n", "\r\ntotal 0\r\n\r\n", "total 0", "Total of 0 files\r\n", own} {
		for _, names := range []string{"", "\r\n"} {
			for first, mlsd := range map[string]testserver.Step{"odd": odd, "denied": denied} {
				inMemory(t, func(t *testing.T, network *ftptest.Network) {
					s := network.NewScript(t, testserver.Honest(""), mlsd, testserver.On("LIST", testserver.Transfer(text)), testserver.On("NLST", testserver.Transfer(names)))
					got, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}, parse(t, s.URL("/d/")))
					if empty := len(got)+len(lines) == 0 && err == nil; empty != (text == own) {
						t.Errorf("MLSD %s, LIST %q, NLST %q: got %q, %v, %v", first, text, names, got, lines, err)
					}
				})
			}
		}
	}
}

// Lines without a readable entry are errors that show them. The others are listed.
func TestEntriesLines(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Transfer(
		"type=file; good\r\n\r\nno facts\r\ntype=file; a/b\r\ntype=file; ../../etc/passwd\r\ntype=file; /abs\r\ntype=dir; ..\r\ntype=dir; .\r\n"+
			"type=cdir; name of the directory\r\ntype=file; a\rb\r\ntype=file; nul\x00\r\ntype=file; \x1b[2J\r\ntype=dir; sub/\r\ntype=file; ...\r\ntype=file; \\\r\n")))
	got, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
	if want := []string{"- good", "- \x1b[2J", "d sub/", "- ...", `- \`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	var shown []string
	for _, err := range lines {
		_, line, _ := strings.Cut(err.Error(), ftpexec.ErrLine.Error()+": ")
		shown = append(shown, line)
	}
	const other = " (a path that leads to another directory)"
	if want := []string{"no facts", "type=file; a/b" + other, "type=file; ../../etc/passwd" + other, "type=file; /abs" + other, `a\x0db`, `nul\x00`}; !slices.Equal(shown, want) {
		t.Errorf("lines %q, want %q", shown, want)
	}
}

// An error about a line shows no password, although the server sent it.
func TestEntriesLineHidesSecrets(t *testing.T) {
	const secret = "open sesame"
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Transfer("type=file; a\r\npassword "+secret+"\r\n")))
	u := parse(t, s.URL("/d/"))
	u.User = url.UserPassword("me", secret)
	_, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, u)
	if err != nil || len(lines) != 1 || strings.Contains(lines[0].Error(), secret) || !strings.Contains(lines[0].Error(), "password ****") {
		t.Errorf("got %v, %v", lines, err)
	}
}

// An entry's URL leads to it: in CWDs to a directory, with RETR to a file.
func TestEntriesURLs(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Transfer("type=dir; s p/\r\ntype=file; caf\xe9\r\ntype=OS.unix=symlink; l\r\n odd\r\n")))
	for path, dirs := range map[string][]string{"/d/": {"d"}, "/d;type=d": {"d"}, "/d/%2Fe;type=d": {"d", "/e"}, "/": nil} {
		var got []string
		s.ResetCommands()
		for e, err := range (&ftpexec.Client{MaxIdle: -1}).Entries(t.Context(), parse(t, s.URL(path))) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.Join(append(e.URL.Dirs, e.URL.Name), "|"))
		}
		var want []string
		for _, name := range []string{"s p|", "caf\xe9", "l", "odd"} {
			want = append(want, strings.Join(append(slices.Clone(dirs), name), "|"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		for _, dir := range dirs {
			if count(s.Commands(), "CWD "+dir) != 1 {
				t.Errorf("%s: sent %q, without CWD %s", path, s.Commands(), dir)
			}
		}
	}
}

// On a kept connection a directory costs a flight for its CWD and EPSV each, and one for MLSD.
func TestEntriesFlights(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Transfer("type=file; a\r\n")))
	session := closing(t, &ftpexec.Client{})
	for i, want := range []int{3, 3, 2} { // the first: USER to TYPE, EPSV, MLSD; the last: the directory is the working directory
		before := len(s.Flights())
		if _, _, err := entriesOf(t.Context(), session, parse(t, s.URL([]string{"/a/", "/a/b/", "/a/b/"}[i]))); err != nil {
			t.Fatal(err)
		}
		if got := len(s.Flights()) - before; got != want {
			t.Errorf("directory %d: %d flights, want %d", i+1, got, want)
		}
	}
}

// A line too long for its reader is an error, wherever it stands. Otherwise the listing would end there without an
// error.
func TestListingLineTooLong(t *testing.T) {
	long := strings.Repeat("n", 64<<10)
	for _, data := range []string{long, "type=file; a\r\n" + long, "type=file; " + long + "\r\ntype=file; b\r\n"} {
		s := testserver.New(t, nil, testserver.Honest("").With("MLSD", testserver.Transfer(data)).With("NLST", testserver.Transfer(data)))
		if got, lines, err := entriesOf(t.Context(), within(ample), parse(t, s.URL("/d/"))); !errors.Is(err, ftpexec.ErrProtocol) || len(got)+len(lines) > 0 {
			t.Errorf("Entries: got %d entries, %v, %v, want ErrProtocol", len(got), lines, err)
		}
		if got, err := list(t.Context(), within(ample), parse(t, s.URL("/d/"))); !errors.Is(err, ftpexec.ErrProtocol) || len(got) > 0 {
			t.Errorf("List: got %d names, %v, want ErrProtocol", len(got), err)
		}
	}
}
