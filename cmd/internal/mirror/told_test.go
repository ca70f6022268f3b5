package mirror_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// teller is a Client that lists one entry, and reports another time or size for it when asked.
type teller struct {
	download.FullSource // nil: the tests call no other method
	lists, tells        ftpexec.Entry
	err                 error // error of the answer
	asked               int
}

func (s *teller) EntriesEarly(context.Context, *urlparse.URL, func(ftpexec.Entry), func(string)) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) { yield(s.lists, nil) }
}

func (s *teller) StatAll(_ context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	s.asked += len(urls)
	return func(yield func(ftpexec.Entry, error) bool) {
		if len(urls) > 0 {
			yield(s.tells, s.err)
		}
	}
}

// TestTimesThatAreAskedFor lists a file with no time or a rough one. The Source must ask the server for the time only
// if a Filter needs it. Then the entry must have the server's time, and an error of the question must be an error of
// the listing.
func TestTimesThatAreAskedFor(t *testing.T) {
	at := time.Unix(1e9, 0).UTC()
	u := must.Get(urlparse.Parse("ftp://h/d/f"))(t)
	untold := ftpexec.Entry{Name: "f", URL: u, Size: 5}
	local := ftpexec.Entry{Name: "f", URL: u, Size: 5, ModTime: at.Add(time.Hour), Precision: time.Minute, Local: true}
	exact := ftpexec.Entry{Name: "f", URL: u, Size: 5, ModTime: at, Precision: time.Second}
	silent := ftpexec.Entry{Name: "f", URL: u, Size: 5}
	sizeless := ftpexec.Entry{Name: "f", URL: u, Size: -1}
	newer := mirror.Filter{NewerThan: at}
	lost, refused := ftpexec.ErrLost, ftpexec.ErrRefused
	for what, tt := range map[string]struct {
		filter mirror.Filter
		lists  ftpexec.Entry
		err    error // error of the answer
		want   []ftpexec.Entry
		fails  error
		asked  int
	}{
		"no filter":        {mirror.Filter{}, untold, nil, []ftpexec.Entry{untold}, nil, 0},
		"by size":          {mirror.Filter{MaxSize: 9}, untold, nil, []ftpexec.Entry{untold}, nil, 0},
		"too large":        {mirror.Filter{MaxSize: 4}, untold, nil, nil, nil, 0},
		"too small":        {mirror.Filter{MinSize: 6}, untold, nil, nil, nil, 0},
		"large enough":     {mirror.Filter{MinSize: 5, MaxSize: 5}, untold, nil, []ftpexec.Entry{untold}, nil, 0},
		"of unknown size":  {mirror.Filter{MinSize: 6}, sizeless, nil, []ftpexec.Entry{sizeless}, nil, 0},
		"old enough":       {mirror.Filter{OlderThan: at.Add(time.Second)}, local, nil, []ftpexec.Entry{exact}, nil, 1},
		"too new":          {mirror.Filter{OlderThan: at}, exact, nil, nil, nil, 0},
		"new and untold":   {mirror.Filter{OlderThan: at}, untold, refused, nil, nil, 1},
		"of that time":     {mirror.Filter{OlderThan: at.Add(time.Second), NewerThan: at}, exact, nil, []ftpexec.Entry{exact}, nil, 0},
		"not told":         {newer, untold, nil, []ftpexec.Entry{exact}, nil, 1},
		"told roughly":     {newer, local, nil, []ftpexec.Entry{exact}, nil, 1},
		"by minimum age":   {mirror.Filter{MinAge: time.Hour}, untold, nil, []ftpexec.Entry{exact}, nil, 1},
		"refuses to tell":  {newer, local, refused, []ftpexec.Entry{silent}, nil, 1},
		"connection lost":  {newer, local, lost, nil, lost, 1},
		"told, and enough": {newer, exact, nil, []ftpexec.Entry{exact}, nil, 0},
	} {
		server := &teller{lists: tt.lists, tells: exact, err: tt.err}
		if tt.err != nil {
			server.tells = ftpexec.Entry{}
		}
		source := &mirror.Source{FullSource: server, Filter: tt.filter}
		var got []ftpexec.Entry
		var failed error
		for e, err := range source.Entries(t.Context(), must.Get(urlparse.Parse("ftp://h/d/"))(t)) {
			if err != nil {
				failed = err
				continue
			}
			got = append(got, e)
		}
		if !reflect.DeepEqual(got, tt.want) || !errors.Is(failed, tt.fails) || server.asked != tt.asked {
			t.Errorf("%s: got %+v, %v after %d questions, want %+v, %v, %d", what, got, failed, server.asked, tt.want, tt.fails, tt.asked)
		}
	}
}

// TestForgets checks that a Source remembers what it has listed unless it Forgets.
func TestForgets(t *testing.T) {
	dir := must.Get(urlparse.Parse("ftp://h/d/"))(t)
	here := must.Get(os.Stat("."))(t)
	for _, forgets := range []bool{false, true} {
		trees := []download.Task{{URLs: []*urlparse.URL{dir}}}
		lists := ftpexec.Entry{Name: "f", Size: 5, URL: dir.Child("f", "")}
		source := &mirror.Source{FullSource: &teller{lists: lists}, Trees: trees, Forgets: forgets}
		for _, err := range source.Entries(t.Context(), dir) {
			must.Do(t, err)
		}
		if got := source.Hides(dir, "f", here); got == forgets {
			t.Errorf("with Forgets %t, it hides f: %t", forgets, got)
		}
	}
}

// TestDeleteAsksAboutDirectories hides a directory from all listings of a server without MLST. Its replies to SIZE and
// MDTM are those for a missing name, and only CWD shows that the directory exists. No file may be deleted.
func TestDeleteAsksAboutDirectories(t *testing.T) {
	s := newHiding(t, "b")
	fault := func(c *testserver.Conn) testserver.Action {
		switch {
		case c.Verb == "MLST" || c.Verb == "MLSD":
			return testserver.Reply("500 What?")
		case c.Arg == "b" && (c.Verb == "SIZE" || c.Verb == "MDTM"):
			return testserver.Reply(refusals[0])
		}
		return nil
	}
	s.fault.Store(&fault)
	dir := s.again()
	deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
	if err != nil || len(deleted) > 0 || there(dir, kept) != len(kept) {
		t.Errorf("deleted %q, %v", deleted, err)
	}
}

// TestDeleteNeedsAFile checks that nothing is deleted if the server reports the size of no file, because it then proves
// nothing about files that its listing lacks.
func TestDeleteNeedsAFile(t *testing.T) {
	s := newStand(t)
	fault := func(c *testserver.Conn) testserver.Action {
		switch c.Verb {
		case "MLST", "MLSD", "SIZE":
			return testserver.Reply("500 What?")
		}
		return nil
	}
	s.fault.Store(&fault)
	dir := s.again()
	if deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100}); err == nil || len(deleted) > 0 {
		t.Errorf("deleted %q, %v", deleted, err)
	}
}

// TestDeleteTyped checks that a file that was fetched in ASCII type is deleted by a run with the same flags.
func TestDeleteTyped(t *testing.T) {
	s := newStand(t)
	s.typed = func(string) urlparse.Typecode { return urlparse.TypeASCII }
	dir := t.TempDir()
	for _, want := range [][]string{nil, {"1"}} {
		deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
		if err != nil || !slices.Equal(deleted, want) {
			t.Errorf("deleted %q, %v, want %q", deleted, err, want)
		}
		_ = s.files.Remove("/t/1")
	}
}

// TestDeleteChangedHere changes local files that the server has lost. Only the files that are still as they were
// fetched may be deleted.
func TestDeleteChangedHere(t *testing.T) {
	s := newStand(t)
	for what, change := range map[string]func(name string) error{
		"removed":     os.Remove,
		"a directory": func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o755)) },
		"a link":      func(name string) error { return errors.Join(os.Rename(name, name+"~"), os.Symlink("5~", name)) },
	} {
		dir := s.again()
		must.Do(t, change(filepath.Join(dir, "5")))
		before, _ := os.Lstat(filepath.Join(dir, "5"))
		deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
		if err != nil || !slices.Equal(deleted, []string{"a/d/6", "a/d/e/7", "a/sp ace"}) {
			t.Errorf("%s: deleted %q, %v", what, deleted, err)
		}
		if after, _ := os.Lstat(filepath.Join(dir, "5")); (before == nil) != (after == nil) {
			t.Errorf("%s: there was %v, then %v", what, before, after)
		}
	}
}

// TestDeleteUnreadableLine puts a line that cannot be parsed into the first listing of a directory. The listing is then
// not whole, because the line may be about the missing file. The file must stay although the server denies it.
func TestDeleteUnreadableLine(t *testing.T) {
	s := newStand(t)
	s.regardless = true
	const known = "-rw-r--r-- 1 u g 13 Sep  9  2001 1\r\n" +
		"drwxr-xr-x 2 u g 0 Sep  9  2001 a\r\ndrwxr-xr-x 2 u g 0 Sep  9  2001 c\r\n"
	for line, want := range map[string][]string{"": {"5", "a/d/6", "a/d/e/7", "a/sp ace"}, "what is this?\r\n": nil} {
		var listings atomic.Int64
		fault := func(c *testserver.Conn) testserver.Action {
			switch {
			case c.Verb == "MLST" || c.Verb == "MLSD":
				return testserver.Reply("500 What?")
			case c.Verb == "LIST" && listings.Add(1) == 1:
				return testserver.Transfer(known + line)
			}
			return nil
		}
		s.fault.Store(&fault)
		dir := s.again()
		deleted, err := s.mirror(t.Context(), dir, mirror.Deletion{Most: 100})
		if !slices.Equal(deleted, want) {
			t.Errorf("with the line %q: deleted %q, %v, want %q", line, deleted, err, want)
		}
	}
}
