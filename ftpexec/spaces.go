package ftpexec

import (
	"errors"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/urlparse"
)

// spaced is what is known about the lines of LIST together, beyond what each line says.
type spaced struct {
	reader *listing.Reader // has seen all lines
	// the names of NLST, by their text without the spaces around it; nil if they were not asked for
	exact map[string][]string
}

// errSpaces is why an entry of LIST has no name.
var errSpaces = errors.New("nothing shows where its name begins and ends")

// certain returns l with all that decides how its lines are read. If a name of LIST seems to have spaces around it that
// may belong to a column, certain asks for the names with NLST. A failure of NLST is not an error.
func (r *lister) certain(l listed) listed {
	if l.op.Verb != "LIST" || l.text.Len() == 0 {
		return l
	}
	l.reader = l.text.Reader(segment(r.url))
	if !l.reader.Wide() {
		return l
	}
	surveyed := *l.reader
	unsure := false
	for item, err := range l.items(false) {
		unsure = unsure || err == nil && (item.Doubt || strings.Trim(item.Name, " ") != item.Name)
	}
	l.reader = &surveyed
	if unsure {
		r.goal.how = len(ways) - 2
		r.nextWay(nil)
		names, err := r.lines()
		if err != nil { // some names may be missing, and an entry could get the name of another
			names.text = nil
		}
		l.exact = make(map[string][]string)
		for _, line := range names.text.Lines() {
			name := base(line)
			bare := strings.Trim(name, " ")
			l.exact[bare] = append(l.exact[bare], name)
		}
	}
	return l
}

// segment returns the name of the directory that u names, or "" if u does not have it.
func segment(u *urlparse.URL) string {
	return base(strings.Join(slices.Concat(u.Dirs, []string{u.Name}), "/"))
}

// readLIST reads the next line. NLST decides what is part of a name in doubt.
func (l *listed) readLIST(line string) (listing.Item, error) {
	item, err := l.reader.LIST(line)
	if err != nil || strings.Trim(item.Name, " ") == item.Name && !item.Doubt {
		return item, err
	}
	names := l.trimmedLike(item.Name)
	for item.Doubt && l.exact != nil && len(names) == 0 && item.Shorten() {
		names = l.trimmedLike(item.Name)
	}
	switch {
	case slices.Contains(names, item.Name):
	case len(names) == 1:
		item.Name = names[0]
	case item.Doubt && l.exact != nil:
		return item, errSpaces
	}
	return item, nil
}

// trimmedLike returns the names of NLST that differ from a name only by the spaces around them.
func (l *spaced) trimmedLike(name string) []string { return l.exact[strings.Trim(name, " ")] }

// why returns the reason why a line is not understood, in parentheses, or "".
func why(err error) string {
	if err == nil || err == listing.ErrUnknown {
		return ""
	}
	return " (" + err.Error() + ")"
}
