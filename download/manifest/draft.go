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

var (
	errDirectory = errors.New("names a directory: write the URL of a file")
	errSize      = errors.New("is not a number of bytes: write digits only, such as 1048576")
)

// finish yields the item, or the error that came up on the way to it.
func (r *reader) finish(d *draft, err error) {
	var item Item
	if err == nil {
		item, err = r.item(d)
	}
	if err != nil {
		r.fail(d.line, err)
		return
	}
	r.emit(item)
}

func (r *reader) item(d *draft) (Item, error) {
	if len(d.urls) == 0 {
		return Item{}, errNoURL
	}
	path, err := r.localPath(d)
	return Item{URLs: d.urls, Path: path, Size: d.size, Sum: d.sum, Line: d.line}, err
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

// addURL adds a place of the file.
func (d *draft) addURL(u *urlparse.URL) error {
	if u.IsDir() {
		return inField(u.Redacted(), errDirectory)
	}
	d.urls = append(d.urls, u)
	return nil
}

// setSize reads a number of bytes; "" means unknown.
func (d *draft) setSize(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return errSize
	}
	size := int64(n)
	d.size = &size
	return nil
}

// addSum adds a digest; "" means unknown. The strongest counts.
func (d *draft) addSum(a digest.Algorithm, text string) error {
	if text == "" {
		return nil
	}
	sum, err := digest.ParseHex(a, text)
	if err == nil {
		d.keepStrongest(sum)
	}
	return err
}

func (d *draft) keepStrongest(sum digest.Sum) {
	rank := func(s digest.Sum) int {
		if i := slices.Index(digest.Algorithms(), s.Algorithm); i >= 0 {
			return i
		}
		return len(digest.Algorithms())
	}
	if rank(sum) < rank(d.sum) {
		d.sum = sum
	}
}
