package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// finish yields the item of a line, whose path is as given, or the error that came up on the way to it.
func (r *reader) finish(item Item, err error) {
	if err == nil && len(item.URLs) == 0 {
		err = errors.New("the line has no URL: write one, such as ftp://host/path, in the column url")
	}
	for _, u := range item.URLs {
		if err == nil && !r.AllowPort {
			err = u.BadPort()
		}
	}
	switch {
	case err != nil:
	case item.Path != "":
		err = inField("path", checkPath(item.Path))
	default:
		item.Path, err = r.ownPath(item.URLs[0])
	}
	if err != nil {
		r.fail(item.Line, err)
	} else if !r.done {
		r.done = !r.yield(item, nil)
	}
}

// single yields the file of a URL that stands alone.
func (r *reader) single(line int, u *urlparse.URL, err error) {
	item := Item{Line: line}
	err = item.addURL(u, err)
	r.finish(item, err)
}

// ownPath returns the path of a file that the list gives none.
func (r *reader) ownPath(u *urlparse.URL) (string, error) {
	components := []string{u.Name}
	if r.KeepDirs {
		components = append(slices.Clone(u.Dirs), u.Name)
	}
	for _, name := range components {
		why := localfile.Unusable(name)
		if name == "" {
			why = "has a component without a name"
		}
		if why != "" {
			return "", fmt.Errorf("%s: cannot be saved under its own name, which %s: give it a path", u.Redacted(), why)
		}
	}
	return strings.Join(components, "/"), nil
}

// checkPath checks a path from outside. It stays below the output directory as long as no symbolic link leads out of it.
func checkPath(path string) error {
	if strings.HasPrefix(path, "/") {
		return errors.New("is absolute: write it relative to the output directory")
	}
	for name := range strings.SplitSeq(path, "/") {
		switch why := localfile.Unusable(name); {
		case name == "":
			return errors.New("has an empty component: write a name before and after each /")
		case name == ".", name == "..":
			return errors.New(`has "." or ".." as a component: write it without them, relative to the output directory`)
		case why != "":
			return errors.New(why + ": write another name")
		}
	}
	return nil
}

// addURL adds a URL of the file, or passes on why there is none.
func (i *Item) addURL(u *urlparse.URL, err error) error {
	switch {
	case err != nil:
		return err
	case u.IsDir():
		return inField(u.Redacted(), errors.New("names a directory: write the URL of a file"))
	}
	i.URLs = append(i.URLs, u)
	return nil
}

// setSize reads a number of bytes.
func (i *Item) setSize(text string) error {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return errors.New("is not a number of bytes: write digits only, such as 1048576")
	}
	i.Size = new(int64(n))
	return nil
}

// addSum adds a digest, or passes on why there is none. The strongest counts.
func (i *Item) addSum(sum digest.Sum, err error) error {
	rank := func(s digest.Sum) int { return slices.Index(algorithm.Names(), s.Algorithm) }
	if err == nil && (i.Sum.Algorithm == "" || rank(sum) < rank(i.Sum)) {
		i.Sum = sum
	}
	return err
}
