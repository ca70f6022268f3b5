package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// draft is an item in the making.
type draft struct {
	line int
	urls []*urlparse.URL
	path string // as given; "" means the default
	size *int64
	sum  digest.Sum
}

// finish yields the item, or the error that came up on the way to it.
func (r *reader) finish(d *draft, err error) {
	if err == nil && len(d.urls) == 0 {
		err = errNoURL
	}
	for _, u := range d.urls {
		if err == nil && !r.AllowPort {
			err = u.BadPort()
		}
	}
	var path string
	if err == nil {
		path, err = r.localPath(d)
	}
	switch {
	case err != nil:
		r.fail(d.line, err)
	case !r.done:
		r.done = !r.yield(Item{URLs: d.urls, Path: path, Size: d.size, Sum: d.sum, Line: d.line}, nil)
	}
}

// single yields the file of a URL that stands alone.
func (r *reader) single(line int, u *urlparse.URL, err error) {
	d := draft{line: line}
	r.finish(&d, d.addURL(u, err))
}

// localPath returns the path of the item: the given one or the default.
func (r *reader) localPath(d *draft) (string, error) {
	if d.path != "" {
		path, err := givenPath(d.path)
		return path, inField("path", err)
	}
	components := []string{d.urls[0].Name}
	if r.KeepDirs {
		components = append(slices.Clone(d.urls[0].Dirs), d.urls[0].Name)
	}
	why := unusable(components)
	if slices.Contains(components, "") {
		why = "has a component without a name"
	}
	if why != "" {
		return "", fmt.Errorf("%s: cannot be saved under its own name, which %s: give it a path", d.urls[0].Redacted(), why)
	}
	return strings.Join(components, "/"), nil
}

// givenPath checks a path from outside.
func givenPath(path string) (string, error) {
	components := strings.Split(path, "/")
	switch {
	case strings.HasPrefix(path, "/"):
		return "", errors.New("is absolute: write it relative to the output directory")
	case slices.Contains(components, ""):
		return "", errors.New("has an empty component: write a name before and after each /")
	case slices.Contains(components, "."), slices.Contains(components, ".."):
		return "", errors.New(`has "." or ".." as a component: write it without them, relative to the output directory`)
	}
	if why := unusable(components); why != "" {
		return "", errors.New(why + ": write another name")
	}
	return path, nil
}

// unusable says why the components of a path cannot be names of local files, or "". So
// the path stays below the output directory as long as no symbolic link leads out of it.
func unusable(components []string) string {
	for _, name := range components {
		if why := localfile.Unusable(name); why != "" {
			return why
		}
	}
	return ""
}

// addURL adds a URL of the file, or passes on why there is none.
func (d *draft) addURL(u *urlparse.URL, err error) error {
	switch {
	case err != nil:
		return err
	case u.IsDir():
		return inField(u.Redacted(), errors.New("names a directory: write the URL of a file"))
	}
	d.urls = append(d.urls, u)
	return nil
}

// setSize reads a number of bytes; "" means unknown.
func (d *draft) setSize(text string) error {
	n, err := strconv.ParseUint(text, 10, 63)
	switch {
	case text == "":
		return nil
	case err != nil:
		return errors.New("is not a number of bytes: write digits only, such as 1048576")
	}
	d.size = new(int64(n))
	return nil
}

// addSum adds a digest, or passes on why there is none. The strongest counts.
func (d *draft) addSum(sum digest.Sum, err error) error {
	rank := func(s digest.Sum) int { return slices.Index(digest.Algorithms(), s.Algorithm) }
	if err == nil && (d.sum.Algorithm == "" || rank(sum) < rank(d.sum)) {
		d.sum = sum
	}
	return err
}
