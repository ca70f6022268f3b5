package mirror

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// folding is an output directory that finds a file by every spelling of its name. It has no file of the names in not,
// although the disk has: they stand for other spellings.
type folding struct {
	output
	not []string
}

func (f folding) Names(dir string) (map[string]bool, error) {
	names, err := f.output.Names(dir)
	for _, file := range f.not {
		if path.Dir(file) == dir {
			delete(names, path.Base(file))
		}
	}
	return names, err
}

func (f folding) Lstat(file string) (fs.FileInfo, error) {
	at := "."
	for name := range strings.SplitSeq(file, "/") {
		names, err := f.Names(at)
		if err != nil {
			return nil, err
		}
		for there := range names {
			if localfile.Fold(there) == localfile.Fold(name) {
				name = there
			}
		}
		if !names[name] {
			return nil, fs.ErrNotExist
		}
		at = path.Join(at, name)
	}
	return f.output.Lstat(at)
}

// TestDeleteKeepsOtherSpellings renames files and directories of the server to other spellings of their names. The
// output directory takes these for the same files. No file that the server has may be deleted; those that it has lost
// are.
func TestDeleteKeepsOtherSpellings(t *testing.T) {
	files := []string{"Data", "Sub/a", "Sub/b", "Sub/Deep/c", "Sub/Deep/d", "caf\u00e9", "gone", "Long/Way/e", "x"}
	for what, tt := range map[string]struct {
		renames [][2]string // on the server
		lost    []string    // removed there, by their new names
		want    []string    // deleted, by their old names
	}{
		"nothing":                         {nil, []string{"gone"}, []string{"gone"}},
		"a file":                          {[][2]string{{"Data", "data"}}, []string{"gone"}, []string{"gone"}},
		"a file's form":                   {[][2]string{{"caf\u00e9", "cafe\u0301"}}, nil, nil},
		"a directory":                     {[][2]string{{"Sub", "sub"}}, nil, nil},
		"a directory and a file of it":    {[][2]string{{"Sub", "SUB"}}, []string{"SUB/b"}, []string{"Sub/b"}},
		"two directories":                 {[][2]string{{"Sub", "sub"}, {"sub/Deep", "sub/deep"}}, []string{"sub/deep/d"}, []string{"Sub/Deep/d"}},
		"a directory in a directory":      {[][2]string{{"Long/Way", "Long/way"}}, []string{"gone"}, []string{"gone"}},
		"a directory, which is then lost": {[][2]string{{"Sub", "sub"}}, []string{"sub/Deep"}, []string{"Sub/Deep/c", "Sub/Deep/d"}},
	} {
		t.Run(what, func(t *testing.T) {
			server := afero.NewMemMapFs()
			tree := make(map[string]string)
			for _, name := range files {
				tree["/t/"+name] = name
			}
			network := ftptest.NewNetwork()
			s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(server), Tree: tree, ModTime: time.Unix(1e9, 0), Listen: network.Listen})
			dir := t.TempDir()
			root := must.Get(os.OpenRoot(dir))(t)
			defer root.Close()
			client := &ftpexec.Client{Dial: network.Dial}
			defer client.CloseIdleConnections()
			u := must.Get(urlparse.Parse("ftp://" + s.Addr() + "/t/"))(t)
			task := download.Task{URLs: []*urlparse.URL{u}, Tree: &download.Tree{}}
			o := download.RunOptions{Ledger: ledger.Name, Each: download.Options{Root: root, Existing: download.Newer}}
			must.Get(download.Run(t.Context(), client, slices.Values([]download.Task{task}), &o))(t)

			for _, r := range tt.renames {
				must.Do(t, server.Rename("/t/"+r[0], "/t/"+r[1]))
			}
			for _, name := range tt.lost {
				must.Do(t, server.RemoveAll("/t/"+name))
			}
			source := &Source{FullSource: client, Trees: []download.Task{task}}
			must.Get(download.Run(t.Context(), source, slices.Values([]download.Task{task}), &o))(t)
			disk := folding{output: output{root}}
			must.Do(t, filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
				below, _ := filepath.Rel(dir, name)
				before := func(file string) bool { return file == below || strings.HasPrefix(file, below+"/") }
				if below = filepath.ToSlash(below); !slices.ContainsFunc(files, before) && !strings.HasPrefix(below, ".") {
					disk.not = append(disk.not, below)
				}
				return err
			}))
			outputOf = func(*os.Root) here { return disk }
			defer func() { outputOf = onDisk }()
			var deleted []string
			err := source.Delete(t.Context(), Deletion{Root: root, Most: 9, Tell: func(g Gone) { deleted = append(deleted, g.Path) }})
			if err != nil || !slices.Equal(deleted, tt.want) {
				t.Errorf("deleted %q, %v, want %q", deleted, err, tt.want)
			}
		})
	}
}
