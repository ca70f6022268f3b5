//go:build linux

package interop

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"time"
)

// replica has the files and lists of an archive on a small scale.
type replica struct {
	name, host string
	data       []string          // paths of its files
	texts      map[string]string // contents of its files
	lists      map[string]string // {md5 0} stands for the digest of the first file, and so on
}

// newReplica returns the replica of an archive on the server with that URL. Its lists and files are among sections.
func newReplica(name string, sections map[string]string, server string) *replica {
	r := &replica{name: name, host: strings.TrimPrefix(server, "ftp://"), texts: make(map[string]string), lists: make(map[string]string)}
	for title, text := range sections {
		if list, of := strings.CutPrefix(title, name+" "); of && list == "data" {
			r.data = strings.Fields(text)
		} else if of {
			r.lists[list] = text
		}
	}
	for _, name := range r.data {
		r.texts[name] = strings.Repeat(name+"\n", 500)
	}
	return r
}

var facts = regexp.MustCompile(`\{(\w+) ?(\d*)\}`)

// write writes the files below source, with that age. With lists, it also writes the lists: those whose names begin
// with "/" below source, and the others in dir.
func (r *replica) write(source, dir string, age time.Duration, lists bool) (err error) {
	files := make(map[string]string)
	for _, name := range r.data {
		files[source+name] = r.texts[name]
	}
	for name, text := range r.lists {
		place := dir + "/" + name
		if name[0] == '/' {
			place = source + name
		}
		if text = facts.ReplaceAllStringFunc(text, r.fact); strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, werr := z.Write([]byte(text))
			err = errors.Join(err, werr, z.Close())
			text = b.String()
		}
		if lists {
			files[place] = text
		}
	}
	for name, text := range files {
		err = errors.Join(err, writeFile(name, text), os.Chtimes(name, time.Time{}, time.Now().Add(-age)))
	}
	return err
}

func (r *replica) fact(text string) string {
	what, n := "", 0
	_, _ = fmt.Sscanf(strings.Trim(text, "{}"), "%s %d", &what, &n)
	name := r.data[n]
	data := []byte(r.texts[name])
	sum := uint16(0) // the checksum of BSD's sum(1)
	for _, b := range data {
		sum = sum>>1 | sum<<15
		sum += uint16(b)
	}
	return map[string]string{
		"host": r.host, "path": name, "name": path.Base(name), "size": fmt.Sprint(len(data)),
		"md5": fmt.Sprintf("%x", md5.Sum(data)), "sha256": fmt.Sprintf("%x", sha256.Sum256(data)), "sum": fmt.Sprintf("%05d %5d", sum, (len(data)+1023)/1024),
	}[what]
}
