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
	"example.com/ftpfetch/urlparse"
)

// rounds is how often the server must deny that it has a file, each time on new connections. To ask again on the same
// connection proves little: if a server confirms a CWD but does not execute it, it truthfully denies the files in that
// directory from then on.
const rounds = 3

// inquiry asks the server whether it still has files.
type inquiry struct {
	*Source
	empty bool // a tree may have become empty
	// strange is the error that a file was not fetched from the present login directory; nil if there is none.
	strange error
}

// confirm returns the files of lost that the server denies in every round.
func (q *inquiry) confirm(ctx context.Context, lost []missing) ([]missing, error) {
	for range rounds {
		q.CloseIdleConnections()
		// by the directory that lacks the files, and by whether it lacks a file or a directory
		places := make(map[string][]missing)
		for _, m := range lost {
			place := m.in.Key() + string(m.kind())
			places[place] = append(places[place], m)
		}
		lost = nil
		for _, place := range slices.Sorted(maps.Keys(places)) {
			gone, err := q.ask(ctx, places[place])
			if err != nil {
				return nil, err
			}
			lost = append(lost, gone...)
		}
	}
	return lost, nil
}

// ask lists one directory again and returns the files of lost that the server denies. Then the server must still report
// the size of a file that it has.
func (q *inquiry) ask(ctx context.Context, lost []missing) (gone []missing, err error) {
	in := lost[0].in
	names := make(map[string]string) // by their local keys
	for _, m := range lost {
		names[localfile.Key(m.name)] = m.name
	}
	login, witness, err := q.again(ctx, in, names)
	witness = cmp.Or(witness, lost[0].witness)
	if err == nil && witness == nil && !q.empty {
		err = errors.New("the server's tree is empty (--max-delete all deletes it here too)")
	}
	if err != nil {
		return nil, err
	}
	denied, err := q.denied(ctx, in, lost[0].kind(), slices.Sorted(maps.Values(names)))
	if err == nil && witness != nil {
		err = q.testify(ctx, witness)
	}
	// the URL does not depend on the login directory
	rooted := len(in.Dirs) > 0 && strings.HasPrefix(in.Dirs[0], "/")
	for _, m := range lost {
		switch {
		case !denied[m.name]:
		case rooted || login != "" && login == m.login:
			gone = append(gone, m)
		default:
			q.strange = &localfile.Error{Path: m.path, Reason: fmt.Sprintf(
				"is kept, as all files that were not fetched from the login directory %q: "+
					"delete it yourself, or write a URL from the root (%%2F)", login)}
		}
	}
	return gone, err
}

// again lists a directory, which must still lack the names. It returns the login directory, and a file that is in the
// listing, or nil.
func (q *inquiry) again(ctx context.Context, in *urlparse.URL,
	names map[string]string) (login string, file *urlparse.URL, err error) {
	heard := func(dir string) { login = dir }
	for e, err := range q.Client.EntriesEarly(ctx, in, nil, heard) {
		if err != nil {
			return "", nil, err
		}
		name := path.Base(e.Name)
		if _, back := names[localfile.Key(name)]; back {
			const what = "%s: %s was missing from the first listing, but is in the second"
			return "", nil, fmt.Errorf(what, in.Redacted(), name)
		}
		if e.Mode.IsRegular() {
			file = e.URL
		}
	}
	return login, file, nil
}

// testify returns an error if the server does not report the size of a file that it has.
func (q *inquiry) testify(ctx context.Context, witness *urlparse.URL) error {
	e, err := q.Stat(ctx, witness)
	if err == nil && e.Size < 0 {
		return fmt.Errorf("%s: the server no longer tells the size of a file that it has listed", witness.Redacted())
	}
	return err
}

// denied returns the names for which the server's reply is, word for word, its reply for a random name that surely does
// not exist. The text is compared because a server has many reasons for a 550. The names are all files or all
// directories of in.
func (q *inquiry) denied(ctx context.Context, in *urlparse.URL, kind urlparse.Typecode,
	names []string) (map[string]bool, error) {
	nobody := rand.Text()
	names = slices.Insert(names, 0, nobody)
	var urls []*urlparse.URL
	for _, name := range names {
		urls = append(urls, in.Child(localfile.Segment(name), kind))
	}
	denied := make(map[string]bool)
	usual := ""
	for _, err := range q.stats(ctx, urls) {
		said, err := refusal(err)
		if err != nil {
			return nil, err
		}
		name := names[len(denied)]
		if name == nobody {
			usual = said
		}
		denied[name] = said != "" &&
			said == strings.ReplaceAll(usual, nobody, localfile.Segment(name))
	}
	return denied, nil
}

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

// refusal returns the server's reply for a missing name, or "" if the name may exist. err is the error of a Stat.
func refusal(err error) (string, error) {
	var e *ftpexec.Error
	switch {
	case err == nil, errors.Is(err, ftpexec.ErrRefused):
		return "", nil
	case errors.Is(err, ftpexec.ErrNotFound) && errors.As(err, &e):
		return e.Reply, nil
	}
	return "", err
}
