package mirror

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// rounds is how often the server must deny that it has a file, each time on new connections. To ask again on the same
// connection proves little: if a server confirms a CWD but does not execute it, it truthfully denies the files in that
// directory from then on.
const rounds = 3

// inquiry asks the server whether it still has files.
type inquiry struct {
	*Source
	here  here
	empty bool // a tree may have become empty
	// strange is the error that a file was not fetched from the present login directory; nil if there is none.
	strange  error
	unproved unproved
}

// confirm returns the files of lost that the server denies in every round.
func (q *inquiry) confirm(ctx context.Context, lost []missing) ([]missing, error) {
	lost, err := q.respell(ctx, lost)
	if err != nil {
		return nil, err
	}
	for range rounds {
		q.CloseIdleConnections()
		places := byPlace(lost)
		lost = nil
		for _, place := range places {
			gone, err := q.ask(ctx, place)
			if err != nil {
				return nil, err
			}
			lost = append(lost, gone...)
		}
	}
	return lost, nil
}

// byPlace groups files by the directory that lacks them, and by whether it lacks a file or a directory.
func byPlace(lost []missing) (all [][]missing) {
	places := make(map[string][]missing)
	for _, m := range lost {
		place := m.in.Key() + string(m.kind())
		places[place] = append(places[place], m)
	}
	for _, place := range slices.Sorted(maps.Keys(places)) {
		all = append(all, places[place])
	}
	return all
}

// namesOf returns the names that the listing of a place lacks.
func namesOf(place []missing) map[string]bool {
	names := make(map[string]bool)
	for _, m := range place {
		names[m.name] = true
	}
	return names
}

// ask lists one directory again and returns the files of lost that the server denies. Then the server must still report
// the size of a file that it has.
func (q *inquiry) ask(ctx context.Context, lost []missing) (gone []missing, err error) {
	in := lost[0].in
	names := namesOf(lost)
	login, witness, other, err := q.again(ctx, lost, names)
	witness = cmp.Or(witness, lost[0].witness)
	if err == nil && witness == nil && !q.empty {
		err = errors.New("the server's tree is empty (--max-delete all deletes it here too)")
	}
	if err != nil {
		return nil, err
	}
	said, err := q.replies(ctx, in, lost[0].kind(), slices.Sorted(maps.Keys(names)))
	if err == nil && witness != nil {
		err = q.testify(ctx, witness)
	}
	// the URL does not depend on the login directory
	rooted := len(in.Dirs) > 0 && strings.HasPrefix(in.Dirs[0], "/")
	for _, m := range lost {
		_, spelled := other[m.name]
		same := rooted || login != "" && login == m.login
		if q.gone(m, spelled, said[m.name], login, same) {
			gone = append(gone, m)
		}
	}
	return gone, err
}

// gone reports whether the server's reply about m proves that it is gone. Otherwise m stays, and gone records why.
// spelled means that a listed name means m here; same, that m was fetched from the present login directory.
func (q *inquiry) gone(m missing, spelled bool, r reply, login string, same bool) bool {
	switch {
	case spelled && m.kind() != urlparse.TypeDir: // the server has it by another spelling of its name
	case spelled:
		q.unproved.add(m.path, "the server has its directory by another spelling of the name")
	case r.exists:
	case !r.denies:
		q.unproved.add(m.path, r.why())
	case same:
		return true
	default:
		q.strange = &localfile.Error{Path: m.path, Reason: fmt.Sprintf(
			"is kept, as all files that were not fetched from the login directory %q: "+
				"delete it yourself, or write a URL from the root (%%2F)", login)}
	}
	return false
}

// again lists the directory of a place, which must still lack the names. It returns the login directory, and a file that
// is in the listing, or nil. other has the server's name for each local file that is listed in another spelling.
func (q *inquiry) again(ctx context.Context, place []missing, names map[string]bool) (
	login string, file *urlparse.URL, other map[string]string, err error) {
	in := place[0].in
	spelled, err := spellingsIn(q.here, place[0].local(), place)
	if err != nil {
		return "", nil, nil, localfile.Failure(place[0].local(), "cannot be listed", err)
	}
	heard := func(dir string) { login = dir }
	for e, err := range q.FullSource.EntriesEarly(ctx, in, nil, heard) {
		if err != nil {
			return "", nil, nil, err
		}
		name := path.Base(e.Name)
		if names[name] {
			const what = "%s: %s was missing from the first listing, but is in the second"
			return "", nil, nil, fmt.Errorf(what, in.Redacted(), name)
		}
		spelled.add(name)
		if e.Mode.IsRegular() {
			file = in.Child(localfile.Segment(name), "")
		}
	}
	return login, file, spelled.other, nil
}

// testify returns an error if the server does not report the size of a file that it has.
func (q *inquiry) testify(ctx context.Context, witness *urlparse.URL) error {
	e, err := q.Stat(ctx, witness)
	if err == nil && e.Size < 0 {
		return fmt.Errorf("%s: the server no longer tells the size of a file that it has listed", witness.Redacted())
	}
	return err
}

// reply is what the server says about a name.
type reply struct {
	exists bool   // the server confirms that the name exists
	absent bool   // the refusal says that it does not
	said   string // the refusal
	usual  string // the refusal of a name that surely does not exist
	denies bool   // said is usual, word for word
	vague  bool   // the server confirms, or does not refuse, a name that surely does not exist as well
}

// why says why the reply proves nothing.
func (r reply) why() string {
	if r.vague {
		return "the server does not deny a name that does not exist"
	}
	if r.usual == "" {
		return fmt.Sprintf("the server says %q, and does not deny a name that does not exist", r.said)
	}
	return fmt.Sprintf("the server says %q, but %q of a name that does not exist", r.said, r.usual)
}

// replies returns what the server says about names. It compares each refusal with that of a random name that surely does
// not exist, because a server has many reasons for a 550. The random name begins with "~" if the name does, which
// changes how it is sent. The names are all files or all directories of in.
func (q *inquiry) replies(ctx context.Context, in *urlparse.URL, kind urlparse.Typecode,
	names []string) (map[string]reply, error) {
	nobody := rand.Text()
	models := []string{nobody}
	if slices.ContainsFunc(names, isHome) {
		models = append(models, "~"+nobody)
	}
	names = slices.Concat(models, names)
	var urls []*urlparse.URL
	for _, name := range names {
		urls = append(urls, in.Child(localfile.Segment(name), kind))
	}
	replies := make(map[string]reply)
	for _, err := range q.stats(ctx, urls) {
		name := names[len(replies)]
		r, err := replyOf(err)
		if err != nil {
			return nil, err
		}
		model := nobody
		if isHome(name) {
			model = "~" + nobody
		}
		if r.exists && replies[model].exists { // of a name, that proves nothing
			r = reply{exists: name == model, vague: true}
		}
		replies[name] = r
		if replies[model].absent {
			r.usual = replies[model].said
		}
		r.denies = r.absent && r.said == strings.ReplaceAll(r.usual, model, name)
		replies[name] = r
	}
	return replies, nil
}

// isHome reports whether servers would take a name for a home directory.
func isHome(name string) bool { return strings.HasPrefix(name, "~") }

// stats asks about files, many in one round trip, or about directories one by one.
func (q *inquiry) stats(ctx context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	if !urls[0].IsDir() {
		return q.StatAll(ctx, urls)
	}
	return func(yield func(ftpexec.Entry, error) bool) {
		for _, u := range urls {
			if !yield(q.Stat(ctx, u)) {
				return
			}
		}
	}
}

// replyOf returns the reply that err, the error of a Stat, stands for, or err if it is not a reply about the file.
func replyOf(err error) (reply, error) {
	e, _ := errors.AsType[*ftpexec.Error](err)
	switch {
	case err == nil:
		return reply{exists: true}, nil
	case errors.Is(err, ftpexec.ErrNotFound) && e != nil:
		return reply{absent: true, said: e.Reply}, nil
	case errors.Is(err, ftpexec.ErrRefused) && e != nil:
		return reply{said: e.Reply}, nil
	}
	return reply{}, err
}

// unproved counts the files that stay although the listings lack them.
type unproved struct {
	files int64
	first string // the path of the first
	why   string
}

func (u *unproved) add(path, why string) {
	if u.files == 0 {
		u.first = path
		u.why = why
	}
	u.files++
}

// err returns the error that files are kept, or nil. It matches [ftpexec.ErrRefused], because the server refuses these
// files, though they may be there.
func (u *unproved) err(root string) error {
	if u.files == 0 {
		return nil
	}
	one, more := "file is kept, which is not listed, but not proved to be gone",
		"files are kept, which are not listed, but not proved to be gone"
	return fmt.Errorf("%s: %s: %s (delete what is not needed yourself)%.0w",
		printable.Count(u.files, one, more), path.Join(root, u.first), u.why, ftpexec.ErrRefused)
}
