package testserver

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/afero"
)

// path returns the absolute path of the command's argument.
func (h *session) path() string {
	if path.IsAbs(h.Arg) {
		return path.Clean(h.Arg)
	}
	return path.Join(h.dir, h.Arg)
}

// denied returns the reply for a file or directory that cannot be opened.
func denied(err error) string { return "550 " + err.Error() }

func (h *session) cwd() string { return h.enterDir(h.path()) }

func (h *session) cdup() string { return h.enterDir(path.Dir(h.dir)) }

func (h *session) enterDir(dir string) string {
	info, err := h.srv.files.Stat(dir)
	switch {
	case err != nil:
		return denied(err)
	case !info.IsDir():
		return "550 " + dir + ": not a directory"
	}
	h.dir = dir
	return "250 The directory is " + dir
}

func (h *session) setType() string {
	code, _ := splitCommand(h.Arg)
	if code != "A" && code != "I" && code != "L" {
		return "504 Unknown type."
	}
	h.ascii = code == "A"
	return "200 Done."
}

func (h *session) rest() string {
	offset, err := strconv.ParseInt(h.Arg, 10, 64)
	if err != nil || h.ascii {
		return "501 No offset, or not of a text."
	}
	h.offset = offset
	return "350 RETR comes next."
}

// file describes the file that the command's argument names. A directory is an error.
func (h *session) file() (fs.FileInfo, error) {
	info, err := h.srv.files.Stat(h.path())
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "open", Path: h.path(), Err: fmt.Errorf("is a directory")}
	}
	return info, err
}

func (h *session) size() string {
	info, err := h.file()
	switch {
	case h.ascii:
		return "550 SIZE not allowed in ASCII mode"
	case err != nil:
		return denied(err)
	}
	return "213 " + strconv.FormatInt(info.Size(), 10)
}

func (h *session) mdtm() string {
	info, err := h.srv.files.Stat(h.path())
	if err != nil {
		return denied(err)
	}
	return "213 " + stamp(info)
}

func stamp(info fs.FileInfo) string { return info.ModTime().UTC().Format("20060102150405") }

func (h *session) mlst() string {
	info, err := h.srv.files.Stat(h.path())
	if err != nil {
		return denied(err)
	}
	return "250-Listing\r\n " + facts(info) + h.path() + "\r\n250 End"
}

// facts returns the facts in a line of MLSD or MLST, and the space after them.
func facts(info fs.FileInfo) string {
	kind := "file"
	if info.IsDir() {
		kind = "dir"
	}
	return fmt.Sprintf("Type=%s;Size=%d;Modify=%s; ", kind, info.Size(), stamp(info))
}

func (h *session) retr() string {
	offset := h.offset
	h.offset = 0
	info, err := h.file()
	if err != nil {
		return denied(err)
	}
	f, err := h.srv.files.OpenFile(h.path(), os.O_RDONLY, 0)
	if err != nil {
		return denied(err)
	}
	defer f.Close()
	// A file in memory counts in int: on 32-bit systems it panics at an offset far beyond its end.
	if _, err := f.Seek(min(offset, info.Size()), io.SeekStart); err != nil {
		return denied(err)
	}
	if !h.ascii {
		return h.transfer(f)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return denied(err)
	}
	lines := strings.ReplaceAll(string(text), "\r\n", "\n")
	return h.transfer(strings.NewReader(strings.ReplaceAll(lines, "\n", "\r\n")))
}

// list answers NLST, LIST and MLSD. The argument of NLST and LIST may name a file.
func (h *session) list() string {
	name := h.path()
	info, err := h.srv.files.Stat(name)
	if err != nil {
		return denied(err)
	}
	infos, within := []fs.FileInfo{info}, path.Dir(path.Clean(h.Arg))
	switch {
	case info.IsDir():
		within = path.Clean(h.Arg)
		if infos, err = afero.ReadDir(h.srv.files, name); err != nil {
			return denied(err)
		}
	case h.Verb == "MLSD":
		return "501 " + name + " is not a directory"
	}
	var lines strings.Builder
	for _, info := range infos {
		switch h.Verb {
		case "NLST":
			lines.WriteString(path.Join(within, info.Name()))
		case "LIST":
			fmt.Fprintf(&lines, "%s 1 ftp ftp %12d %s %s", info.Mode(), info.Size(), info.ModTime().Format("Jan _2  2006"), info.Name())
		case "MLSD":
			lines.WriteString(facts(info) + info.Name())
		}
		lines.WriteString("\r\n")
	}
	return h.transfer(strings.NewReader(lines.String()))
}

// rootless gives an fs.FS the names that it expects: without the "/" of the root.
type rootless struct{ afero.FromIOFS }

func inside(name string) string { return cmp.Or(strings.TrimPrefix(name, "/"), ".") }

func (r rootless) Stat(name string) (fs.FileInfo, error) { return r.FromIOFS.Stat(inside(name)) }
func (r rootless) Open(name string) (afero.File, error)  { return r.FromIOFS.Open(inside(name)) }
func (r rootless) OpenFile(name string, _ int, _ fs.FileMode) (afero.File, error) {
	return r.Open(name)
}
