package ftpexec_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// shortly returns what an error says without its URL.
func shortly(err error) string {
	text := fmt.Sprint(err)
	if at := strings.LastIndex(text, "/f: "); at >= 0 {
		text = text[at+len("/f: "):]
	}
	return text
}

// told returns the events of a diary in short, one a line.
func (d *diary) told() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, e := range d.events {
		text := ""
		switch e := e.(type) {
		case ftpexec.WaitInfo:
			text = "wait"
		case ftpexec.ConnInfo:
			text = fmt.Sprintf("%d: connection, reused %t", e.Conn, e.Reused)
		case ftpexec.SecuredInfo:
			text = fmt.Sprintf("%d: TLS %x", e.Conn, e.TLS.Version)
		case ftpexec.CommandInfo:
			text = fmt.Sprintf("%d: %s, joined %t", e.Conn, e.Text, e.Joined)
		case ftpexec.ReplyInfo:
			text = fmt.Sprintf("%d: %d", e.Conn, e.Code)
		case ftpexec.TransferInfo:
			text = fmt.Sprintf("%d: %s over, %d bytes from %d, %v", e.Conn, e.Verb, e.Bytes, e.Offset, shortly(e.Err))
		case ftpexec.RetryInfo:
			text = fmt.Sprintf("%d: retry", e.Conn)
		case ftpexec.ClosedInfo:
			text = fmt.Sprintf("%d: closed, %t", e.Conn, e.Err != nil)
		default:
			continue
		}
		all = append(all, text)
	}
	return all
}

// TestTrace compares the events of calls with what they do.
func TestTrace(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Users: map[string]string{"me": "s3cret"}, Tree: map[string]string{"/d/f": "contents"}})
	var all, first, second diary
	c := closing(t, &ftpexec.Client{Trace: all.trace(), NoPipelining: true})
	u := parse(t, s.URL("me:s3cret@/d/f"))
	must.Get(read(ftpexec.WithTrace(t.Context(), first.trace()), c, u))(t)
	must.Get(list(ftpexec.WithTrace(t.Context(), second.trace()), c, parse(t, s.URL("me:s3cret@/d/"))))(t)
	want := "1: connection, reused false|1: 220|1: USER me, joined false|1: 331|1: PASS ********, joined false|1: 230|" +
		"1: PWD, joined false|1: 257|1: CWD d, joined false|1: 250|1: TYPE I, joined false|1: 200|" +
		"1: SIZE f, joined false|1: 213|1: MDTM f, joined false|1: 213|1: EPSV, joined false|1: 229|" +
		"1: RETR f, joined false|1: 150|1: 226|1: RETR over, 8 bytes from 0, <nil>"
	if got := strings.Join(first.told(), "|"); got != want {
		t.Errorf("the first call:\n got %s\nwant %s", got, want)
	}
	got := second.told()
	if !slices.Contains(got, "1: connection, reused true") || !slices.Contains(got, "1: NLST over, 3 bytes from 0, <nil>") {
		t.Errorf("the second call: %s", got)
	}
	both := slices.Concat(first.told(), second.told())
	if got := all.told(); !slices.Equal(got, both) {
		t.Errorf("all calls:\n got %s\nwant %s", got, both)
	}
	c.CloseIdleConnections()
	end := all.told()[len(both):]
	if strings.Join(end, "|") != "1: QUIT, joined false|1: closed, false" || len(second.told()) != len(got) {
		t.Errorf("at the end %s; the second call %s", end, second.told()[len(got):])
	}
	if shown := formatted(all.events); strings.Contains(shown, "s3cret") {
		t.Errorf("a password is shown: %s", shown)
	}
}

// TestTraceOfConcurrentCalls checks that each of several calls has its own events, and that traces nest.
func TestTraceOfConcurrentCalls(t *testing.T) {
	tree := map[string]string{}
	for i := range 20 {
		tree[fmt.Sprint("/f", i)] = strings.Repeat("x", i)
	}
	s := testserver.New(t, &testserver.Options{Tree: tree})
	var outer diary
	ctx := ftpexec.WithTrace(t.Context(), outer.trace())
	c := closing(t, &ftpexec.Client{MaxConns: 3})
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			var d diary
			_, err := read(ftpexec.WithTrace(ctx, d.trace()), c, parse(t, s.URL(fmt.Sprint("/f", i))))
			n := 0
			for _, e := range d.events {
				if end, ok := e.(ftpexec.TransferInfo); ok {
					n++
					if end.Bytes != int64(i) || !strings.HasSuffix(end.URL, fmt.Sprint("/f", i)) || end.Err != nil {
						t.Errorf("call %d: %+v", i, end)
					}
				}
			}
			if err != nil || n != 1 {
				t.Errorf("call %d: %v, %d transfers", i, err, n)
			}
		})
	}
	calls.Wait()
	transfers, waits := 0, 0
	for _, text := range outer.told() {
		if strings.Contains(text, "RETR over") {
			transfers++
		}
		if text == "wait" {
			waits++
		}
	}
	stats := c.Stats()
	if transfers != 20 || waits == 0 || len(stats) != 1 || stats[0].Logins != stats[0].Connections ||
		stats[0].Connections != s.Connections() || stats[0].InUse != 0 || stats[0].Idle != stats[0].Connections {
		t.Errorf("%d transfers, %d waits, %+v, %d connections", transfers, waits, stats, s.Connections())
	}
}

// TestTraceOfFailures checks the last events of what goes wrong.
func TestTraceOfFailures(t *testing.T) {
	reply := testserver.Reply
	honest := testserver.Honest("contents")
	for name, tt := range map[string]struct {
		server testserver.Step
		want   []string // among the events
	}{
		"a transfer that fails": {honest.With("RETR", reply("150 x"), testserver.Data("con", testserver.Closed), reply("426 no")),
			[]string{"1: RETR over, 3 bytes from 0, transfer incomplete: 3 of 8 bytes", "1: closed, true"}},
		"a refused transfer": {honest.With("RETR", reply("550 no such file")), []string{"1: 550"}},
		"EPSV ends the connection": {honest.With("EPSV", testserver.EndControl(testserver.Closed)),
			[]string{"1: closed, true", "1: retry", "2: connection, reused false", "2: RETR over, 8 bytes from 0, <nil>"}},
		"no login": {honest.With("PASS", reply("530 no")), []string{"1: 530"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := testserver.New(t, nil, tt.server)
			var d diary
			c := closing(t, new(ftpexec.Client))
			_, err := read(ftpexec.WithTrace(t.Context(), d.trace()), c, parse(t, s.URL("/f")))
			got := d.told()
			over := slices.IndexFunc(got, func(e string) bool { return strings.Contains(e, "over") })
			for _, want := range tt.want {
				if !slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, want) }) {
					t.Errorf("%v: no %q among %q", err, want, got)
				}
			}
			if (over >= 0) != strings.Contains(strings.Join(tt.want, ""), "over") {
				t.Errorf("%v: a transfer that has not begun is over: %q", err, got)
			}
		})
	}
}
