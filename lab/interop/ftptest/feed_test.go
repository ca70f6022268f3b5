package ftptest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

const feedSize = 1_000_000

// feedClient is a control connection of a test.
type feedClient struct {
	*testing.T
	network *Network
	control net.Conn
	replies *bufio.Reader
}

// dialFeed starts a server with a Feed in a network in memory, and returns a function that connects to it.
func dialFeed(t *testing.T, paces ...Pace) (*Feed, func() *feedClient) {
	t.Helper()
	files := afero.NewMemMapFs()
	feed := NewFeed(files, paces...)
	network := NewNetwork()
	srv := testserver.New(t, &testserver.Options{
		FS: afero.NewIOFS(files), Tree: map[string]string{"/d/f": strings.Repeat("0123456789", feedSize/10)}, Listen: network.Listen, Fault: feed.Fault,
	})
	return feed, func() *feedClient {
		control := must.Get(network.Dial(t.Context(), "tcp", srv.Addr()))(t)
		c := &feedClient{t, network, control, bufio.NewReader(control)}
		c.reply()
		for _, line := range []string{"USER ftp", "PASS x", "TYPE I", "CWD d"} {
			c.say(line)
		}
		return c
	}
}

func (c *feedClient) say(line string) string {
	c.Helper()
	must.Get(fmt.Fprintf(c.control, "%s\r\n", line))(c)
	return c.reply()
}

func (c *feedClient) reply() string {
	c.Helper()
	return strings.TrimSpace(must.Get(c.replies.ReadString('\n'))(c))
}

// get sends RETR f at an offset, and returns the data connection and the first reply.
func (c *feedClient) get(offset int) (net.Conn, string) {
	c.Helper()
	port := regexp.MustCompile(`\d{4,}`).FindString(c.say("EPSV"))
	data := must.Get(c.network.Dial(c.Context(), "tcp", "127.0.0.1:"+port))(c)
	if offset > 0 {
		c.say(fmt.Sprintf("REST %d", offset))
	}
	return data, c.say("RETR f")
}

// TestFeedPaces checks what each pace sends, and when, to the nanosecond. A client loses the bytes that it has not read
// before a reset.
func TestFeedPaces(t *testing.T) {
	for name, tt := range map[string]struct {
		pace   Pace
		offset int
		first  string
		octets int
		takes  time.Duration
		err    string
		last   string
		whole  bool
	}{
		"at once":           {first: "150", octets: feedSize, last: "226", whole: true},
		"from the middle":   {offset: feedSize - 10, first: "150", octets: 10, last: "226", whole: true},
		"beyond the end":    {offset: feedSize + 10, first: "150", octets: 0, last: "226", whole: true},
		"at a rate":         {pace: Pace{Rate: 100_000}, first: "150", octets: feedSize, takes: 10 * time.Second, last: "226", whole: true},
		"without REST":      {pace: Pace{IgnoreREST: true}, offset: 10, first: "150", octets: feedSize, last: "226", whole: true},
		"refused":           {pace: Pace{Refuse: "450 Busy"}, first: "450"},
		"closed":            {pace: Pace{End: testserver.Closed, After: 50_000, Final: "426 x"}, first: "150", octets: 50_000, last: "426"},
		"closed, false 226": {pace: Pace{End: testserver.Closed, After: 50_000}, first: "150", octets: 50_000, last: "226"},
		"closed later":      {pace: Pace{End: testserver.Closed, After: feedSize}, first: "150", octets: feedSize, last: "226", whole: true},
		"reset":             {pace: Pace{End: testserver.Reset, After: 50_000, Rate: 100_000}, first: "150", octets: 50_000, takes: 500 * time.Millisecond, err: "reset", last: "226"},
		"stopped":           {pace: Pace{End: testserver.Stalled, After: 50_000}, first: "150", octets: 50_000, takes: time.Minute, err: "timeout", last: "426"},
		"behind a gate":     {pace: Pace{Gate: NewGate(50_000)}, first: "150", octets: 50_000, takes: time.Minute, err: "timeout", last: "426"},
	} {
		synctest.Test(t, func(t *testing.T) {
			feed, dial := dialFeed(t, tt.pace)
			c := dial()
			defer c.control.Close()
			began := time.Now()
			data, first := c.get(tt.offset)
			data.SetReadDeadline(began.Add(time.Minute))
			b, err := io.ReadAll(data)
			took := time.Since(began)
			data.Close()
			if tt.first != "150" {
				b, err = nil, nil
			}
			last := ""
			if tt.last != "" {
				last = c.reply()
			}
			synctest.Wait()
			want := []Retrieval{{Conn: 1, Path: "/d/f", Offset: int64(tt.offset), Sent: int64(tt.octets), Over: true, Whole: tt.whole}}
			if got := feed.Retrievals(); !slices.Equal(got, want) {
				t.Errorf("%s: recorded %+v, want %+v", name, got, want)
			}
			if !strings.HasPrefix(first, tt.first) || !strings.HasPrefix(last, tt.last) || len(b) != tt.octets && tt.err != "reset" || !strings.Contains(fmt.Sprint(err), tt.err) {
				t.Errorf("%s: %s, %d bytes, %v, %s", name, first, len(b), err, last)
			}
			if tt.first == "150" && took != tt.takes {
				t.Errorf("%s: took %v, want %v", name, took, tt.takes)
			}
		})
	}
}

// TestFeedGates releases bytes of two retrievals in turn, and counts connections and retrievals that are under way at the
// same time.
func TestFeedGates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := NewGate(0), NewGate(10)
		feed, dial := dialFeed(t, Pace{Gate: one}, Pace{Gate: two})
		a, b := dial(), dial()
		defer a.control.Close()
		defer b.control.Close()
		first, _ := a.get(0)
		second, _ := b.get(feedSize - 20)
		sent := func() (all []int64) {
			synctest.Wait()
			for _, r := range feed.Retrievals() {
				all = append(all, r.Sent)
			}
			return all
		}
		if got := sent(); !slices.Equal(got, []int64{0, 10}) {
			t.Errorf("before: %v", got)
		}
		one.Let(7)
		if got := sent(); !slices.Equal(got, []int64{7, 10}) {
			t.Errorf("after Let: %v", got)
		}
		two.Open()
		must.Do(t, feed.Await(t.Context(), func(all []Retrieval) bool { return all[1].Over }))
		if got := string(must.Get(io.ReadAll(second))(t)); got != "01234567890123456789" {
			t.Errorf("after Open: %q", got)
		}
		first.Close()
		must.Do(t, feed.Await(t.Context(), func(all []Retrieval) bool { return all[0].Over }))
		if connections, retrievals := feed.Most(); connections != 2 || retrievals != 2 || feed.Sent() != 27 {
			t.Errorf("%d connections, %d retrievals, %d bytes", connections, retrievals, feed.Sent())
		}
	})
}
