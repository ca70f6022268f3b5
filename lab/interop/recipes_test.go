//go:build interop && linux

package interop

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// recipe is a command from docs/recipes.
type recipe struct {
	script string // for bash, in an empty directory; $recipes and $base are set
	files  string // where the files must be, with a verb for their names
	mirror bool   // success prints nothing, and a changed file is fetched again
}

var recipeTests = map[string]recipe{
	"ena.sh":      {script: `$recipes/ena.sh PRJEB1 data`, files: "data/%s"},
	"slurm":       {script: slurmArray, files: "data/%s"},
	"Makefile":    {script: `make -j 4 -f $recipes/Makefile BASE=$base GENOME=run FILES="run/1.gz run/2.gz run/3.gz"`, files: "run/%s"},
	"parallel.sh": {script: `printf "$base/run/%s\n" 1.gz 2.gz 3.gz >urls.txt && $recipes/parallel.sh urls.txt`, files: "data/%s"},
	"weather.sh":  {script: `$recipes/weather.sh "$base/run/*.gz" latest`, files: "latest/%s", mirror: true},
	"ingest.sh":   {script: `$recipes/ingest.sh $base/run/ spool`, files: "loaded/%s", mirror: true},
	"check":       {script: `$recipes/mirror-check.sh $base/ tree`, files: "tree/run/%s", mirror: true},
	"crontab":     {script: nightly + `$recipes/crontab | ` + here, files: "mirror/tree/run/%s", mirror: true},
	"service":     {script: started + `$recipes/ftpfetch-mirror.service | ` + here, files: "tree/run/%s", mirror: true},
}

// slurmArray runs the job as Slurm would run an array of eight.
const slurmArray = `
export SLURM_ARRAY_TASK_ID
failed=0
for SLURM_ARRAY_TASK_ID in 1 2 3 4 5 6 7 8; do
	bash $recipes/slurm.sbatch $list data || failed=1
done
exit $failed`

// nightly and the next constant extract the commands of the crontab and of the service, run by sh on the embedded
// server.
const (
	nightly = `sed -n 's|^17 2 \* \* \* ||p' `
	started = `sed -n 's|^ExecStart=/usr/local/bin/||p' `
	here    = `sed "s|ftp://[^ ]*|$base/|" | sh`
)

// TestRecipes runs the recipes that need only a shell and make. First the server refuses one file of three, which the
// recipe must report. Then the same command must complete, and fetch only that file.
func TestRecipes(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for name, r := range recipeTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRecipeSite(t, binary)
			s.broken.Store(true)
			if out, err := s.run(t, r.script); err == nil || !strings.Contains(out, "2.gz") {
				t.Fatalf("with a file missing: %v\n%s", err, out)
			}
			s.check(t, r.files, "1.gz", "3.gz")
			s.broken.Store(false)
			s.ResetCommands()
			out, err := s.run(t, r.script)
			if err != nil || r.mirror && out != "" {
				t.Fatalf("again: %v\n%s", err, out)
			}
			s.check(t, r.files, "1.gz", "2.gz", "3.gz")
			if got, want := s.fetched(), []string{"RETR 2.gz"}; !slices.Equal(got, want) {
				t.Errorf("again: got %q, want %q", got, want)
			}
			if r.mirror {
				s.change(t, "3.gz")
				if out, err := s.run(t, r.script); err != nil || out != "" {
					t.Fatalf("after a change: %v\n%s", err, out)
				}
				s.check(t, r.files, "1.gz", "2.gz", "3.gz")
			}
		})
	}
}

// recipeSite is a server with three files in the directory run, and the environment of a recipe.
type recipeSite struct {
	*testserver.Server
	fs     afero.Fs
	broken atomic.Bool // 2.gz cannot be retrieved
	files  map[string]string
	env    []string
	dir    string
}

func newRecipeSite(t *testing.T, binary string) *recipeSite {
	t.Helper()
	recipes := must.Get(filepath.Abs("../../docs/recipes"))(t)
	s := &recipeSite{fs: afero.NewMemMapFs(), files: make(map[string]string), dir: t.TempDir()}
	tree := make(map[string]string)
	for _, name := range []string{"1.gz", "2.gz", "3.gz"} {
		s.files[name] = gzipped(t, strings.Repeat(name, 1000))
		tree["/run/"+name] = s.files[name]
		tree["/run/md5checksums.txt"] += fmt.Sprintf("%x  ./%s\n", md5.Sum([]byte(s.files[name])), name)
	}
	s.Server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(s.fs), Tree: tree, Fault: func(p *testserver.Conn) testserver.Action {
		if s.broken.Load() && p.Verb == "RETR" && p.Arg == "2.gz" {
			return testserver.Reply("550 No such file")
		}
		return nil
	}})
	list := filepath.Join(t.TempDir(), "list.tsv")
	must.Do(t, os.WriteFile(list, s.report(), 0o600))
	s.env = append(os.Environ(), "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"), "HOME="+s.dir, "recipes="+recipes,
		"base=ftp://"+s.Addr(), "list="+list, "ENA_PORTAL="+s.portal(t))
	return s
}

// change makes a file newer and longer.
func (s *recipeSite) change(t *testing.T, name string) {
	t.Helper()
	s.files[name] += gzipped(t, "more")
	must.Do(t, afero.WriteFile(s.fs, "/run/"+name, []byte(s.files[name]), 0o644))
	later := time.Now().Add(time.Hour)
	must.Do(t, s.fs.Chtimes("/run/"+name, later, later))
}

// report returns what ENA's portal would say about the files.
func (s *recipeSite) report() []byte {
	b := bytes.NewBufferString("run_accession\tfastq_ftp\tfastq_md5\tfastq_bytes\n")
	for i, name := range slices.Sorted(maps.Keys(s.files)) {
		text := s.files[name]
		fmt.Fprintf(b, "ERR%d\t%s/run/%s\t%x\t%d\n", i, s.Addr(), name, md5.Sum([]byte(text)), len(text))
	}
	return b.Bytes()
}

// portal starts the portal, which knows one study, and returns its URL.
func (s *recipeSite) portal(t *testing.T) string {
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/filereport" || q.Get("accession") != "PRJEB1" || q.Get("result") != "read_run" || q.Get("format") != "tsv" {
			http.Error(w, "no such report", http.StatusBadRequest)
			return
		}
		_, _ = w.Write(s.report())
	}))
	t.Cleanup(p.Close)
	return p.URL
}

// run runs a script and returns what it printed.
func (s *recipeSite) run(t *testing.T, script string) (string, error) {
	cmd := exec.CommandContext(testContext(t), "bash", "-c", script)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// check compares the recipe's files with the server's.
func (s *recipeSite) check(t *testing.T, place string, names ...string) {
	t.Helper()
	for _, name := range names {
		got, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf(place, name)))
		if err != nil || string(got) != s.files[name] {
			t.Errorf("%s: got %d bytes (%v), want %d", name, len(got), err, len(s.files[name]))
		}
	}
}

var retrieved = regexp.MustCompile(`^RETR \d\.gz$`)

// fetched returns the transfers of the files.
func (s *recipeSite) fetched() []string {
	return slices.DeleteFunc(s.Commands(), func(c string) bool { return !retrieved.MatchString(c) })
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must.Get(w.Write([]byte(text)))(t)
	must.Do(t, w.Close())
	return b.String()
}
