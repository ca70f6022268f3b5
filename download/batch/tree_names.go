package batch

import (
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// besides returns the names of which there is an entry that is called like a file
// that download.File keeps beside a target.
func besides(entries []ftpexec.Entry) map[string]bool {
	var of map[string]bool
	for _, e := range entries {
		for _, suffix := range []string{".part", ".bad"} {
			for rest := e.Base; strings.Contains(rest, suffix); {
				rest = rest[:strings.LastIndex(rest, suffix)]
				if of == nil {
					of = make(map[string]bool)
				}
				of[rest] = true
			}
		}
	}
	return of
}

// entryURL returns the URL of an entry, with its name as servers take it.
func entryURL(e ftpexec.Entry) *urlparse.URL {
	v := *e.URL
	if last := len(v.Dirs) - 1; v.Name != "" {
		v.Name = literal(v.Name)
	} else if last >= 0 {
		v.Dirs = append(slices.Clone(v.Dirs[:last]), literal(v.Dirs[last]))
	}
	return &v
}

// literal returns the segment of a URL for a name from a listing. Servers take a
// "~" at its beginning for a home directory, which a tree must not lead to.
func literal(name string) string {
	if strings.HasPrefix(name, "~") {
		return "./" + name
	}
	return name
}
