package download

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// TestLack checks which files certainly are not in a local directory, by the names in it.
func TestLack(t *testing.T) {
	dir := t.TempDir()
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	for _, sub := range []string{"some", "parts", "many", "empty"} {
		must.Do(t, os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	touch := func(name string) { must.Do(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644)) }
	touch("some/A")
	touch("parts/a.FTPFETCH.part")
	touch("file")
	for i := range mostLocal + 1 {
		touch(fmt.Sprint("many/", i))
	}
	must.Do(t, os.Symlink("..", filepath.Join(dir, "out")))
	b := &engine{root: root}
	for _, test := range []struct {
		dir, name string
		want      bool
	}{
		{"some", "a", false}, {"some", "A", false}, {"some", "b", true}, {"some", "\u00e4", false}, {"some", "PROGRA~1", false},
		{"empty", "a", true}, {"missing", "a", true}, {"missing/too", "a", true}, {".", "some", false}, {".", "other", true},
		{"parts", "b", false}, {"many", "b", false}, {"file", "b", false}, {"file/below", "b", false}, {"out", "b", false},
	} {
		if got := b.readLocal(test.dir).lack(test.name); got != test.want {
			t.Errorf("%s certainly lacks %s: %v, want %v", test.dir, test.name, got, test.want)
		}
	}
	if !new(engine).readLocal(".").lack("a") {
		t.Error("without a root, a file may be here")
	}
}
