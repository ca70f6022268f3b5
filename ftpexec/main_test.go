package ftpexec_test

import (
	"context"
	"flag"
	"io"
	"iter"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/table"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/urlparse"
)

func TestMain(m *testing.M) {
	if os.Getenv(serves) != "" {
		serve()
		return
	}
	flag.Set("test.parallel", "8") // parallel tests mostly wait; the flag -parallel overrides this
	goleak.VerifyTestMain(m)
}

func parse(t testing.TB, rawURL string) *urlparse.URL {
	t.Helper()
	return must.Get(urlparse.Parse(rawURL))(t)
}

// read retrieves a whole file.
func read(ctx context.Context, s opener, u *urlparse.URL) (string, error) {
	r, err := s.Do(ctx, &ftpexec.Request{URL: u})
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	contents, err := io.ReadAll(r.Body)
	return string(contents), err
}

// inMemory runs test in a bubble of testing/synctest with its own network. Waiting costs no time there, and load on the
// machine changes nothing.
func inMemory(t *testing.T, test func(t *testing.T, network *ftptest.Network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, ftptest.NewNetwork()) })
}

// runInMemory runs test as a subtest, in memory.
func runInMemory(t *testing.T, name string, test func(t *testing.T, network *ftptest.Network)) {
	t.Run(name, func(t *testing.T) { inMemory(t, test) })
}

// wantContents retrieves a file that holds "contents".
func wantContents(t *testing.T, s opener, u *urlparse.URL) {
	t.Helper()
	if got, err := read(t.Context(), s, u); err != nil || got != "contents" {
		t.Errorf("got %q, %v", got, err)
	}
}

// closing returns c, and closes its connections at the end of the test.
func closing(t *testing.T, c *ftpexec.Client) *ftpexec.Client {
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// within returns a Client whose timeouts are all d.
func within(d time.Duration) *ftpexec.Client {
	return &ftpexec.Client{MaxIdle: -1, ConnectTimeout: d, Timeout: d}
}

// ample is long enough for a busy machine: a test that takes longer hangs.
const ample = 30 * time.Second

// opener has the Do of a Client.
type opener interface {
	Do(context.Context, *ftpexec.Request) (*ftpexec.Response, error)
}

// lister has the List of a Client.
type lister interface {
	List(context.Context, *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

func list(ctx context.Context, c lister, u *urlparse.URL) (names []string, err error) {
	for e, err := range c.List(ctx, u) {
		if err != nil {
			return names, err
		}
		names = append(names, e.Name)
	}
	return names, nil
}

// do retrieves or lists what u names. It joins the names of a listing with commas.
func do(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) (string, error) {
	if u.IsDir() {
		names, err := list(ctx, c, u)
		return strings.Join(names, ","), err
	}
	return read(ctx, c, u)
}

// diary collects a trace.
type diary struct {
	mu     sync.Mutex
	events []any // what the functions of a Trace get
}

func (d *diary) add(event any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, event)
}

// trace returns a Trace of which every function adds to d.
func (d *diary) trace() *ftpexec.Trace {
	trace := new(ftpexec.Trace)
	for _, hook := range reflect.ValueOf(trace).Elem().Fields() {
		hook.Set(reflect.MakeFunc(hook.Type(), func(info []reflect.Value) []reflect.Value {
			d.add(info[0].Interface())
			return nil
		}))
	}
	return trace
}

func (d *diary) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var b strings.Builder
	for _, e := range d.events {
		switch e := e.(type) {
		case ftpexec.CommandInfo:
			b.WriteString(e.Text + "\n")
		case ftpexec.ReplyInfo:
			b.WriteString(strings.Join(e.Lines, "\n") + "\n")
		case ftpexec.NoteInfo:
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

func count(lines []string, line string) (n int) {
	for range slices.Values(slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s != line })) {
		n++
	}
	return n
}

func TestPlanDryRun(t *testing.T) {
	for _, row := range table.Rows(t, "plans.txt", "plans") {
		if got := planned(t, parse(t, row[0])); got != row[1] {
			t.Errorf("%s: got\n%s, want\n%s", row[0], got, row[1])
		}
	}
}

func TestPlanHoldsNoPassword(t *testing.T) {
	p, err := ftpexec.Plan(parse(t, "ftp://user:s3cret@h/a"))
	if shown := formatted(p); err != nil || strings.Contains(shown, "s3cret") {
		t.Errorf("%v; the plan has the password:\n%s", err, shown)
	}
}

// Plan refuses a URL value made by hand that Parse would refuse as text.
func TestPlanRefusesBadValues(t *testing.T) {
	u := &urlparse.URL{Scheme: "ftp", Host: "h", Name: "f", Dirs: []string{"a\r\nDELE x"}}
	if p, err := ftpexec.Plan(u); err == nil {
		t.Errorf("no error, but the plan\n%v", p)
	}
}

// planned returns the plan of u, "|" between its commands.
func planned(t *testing.T, u *urlparse.URL) string {
	t.Helper()
	plan := must.Get(ftpexec.Plan(u))(t)
	var shown []string
	for _, c := range plan {
		shown = append(shown, c.String())
	}
	return strings.Join(shown, "|")
}
