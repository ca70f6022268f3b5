package ftptest

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/testserver"
)

// Feed answers RETR in place of a [testserver.Server], so that a test decides how each data connection behaves, and
// counts what the client asked for. Its method Fault is the [testserver.Options].Fault of an honest server:
//
//	files := afero.NewMemMapFs()
//	feed := ftptest.NewFeed(files, ftptest.Pace{}, ftptest.Pace{Rate: 100_000}, ftptest.Pace{})
//	network := ftptest.NewNetwork() // in a testing/synctest bubble, where a rate takes no real time
//	srv := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), Tree: tree, Listen: network.Listen, Fault: feed.Fault})
//	download(t, srv.URL("/f"), network.Dial)
//	feed.Retrievals() // each RETR with its offset and the bytes sent for it
//
// On a Network at most 64 KiB are sent that the client never reads; on loopback it can be megabytes. All methods may be
// used concurrently.
type Feed struct {
	files afero.Fs

	mu          sync.Mutex
	plan        func(n int, r Retrieval) Pace
	sessions    map[int]*feedSession // by number of the control connection
	retrievals  []*Retrieval
	connections int       // the most control connections that were open at once
	most        int       // the most retrievals that were under way at once
	last        time.Time // when bytes were last sent
	changed     signal
}

// Pace is how a Feed sends a file. The zero value sends all of it at once, as an honest server does.
type Pace struct {
	Rate       int64  // bytes a second; 0 means no limit
	Gate       *Gate  // what the bytes have to pass; nil means none
	IgnoreREST bool   // the file is sent from its start, whatever REST said
	Refuse     string // the reply to RETR, such as "450 Busy"; "" means that the transfer begins

	// End is what happens to the data connection after the first After bytes, if the file is longer. The zero value lets
	// them all come. Final is the reply after Closed and Reset; "" means "226 Done."; after Stalled there is none.
	End   testserver.Ending
	After int64
	Final string
}

// Retrieval is a RETR that a Feed has answered.
type Retrieval struct {
	Conn   int    // number of the control connection, from 1
	Path   string // of the file, absolute
	Offset int64  // of REST, even if it was ignored; 0 without
	Sent   int64  // bytes of the file that were sent
	Over   bool   // the transfer has ended
	Whole  bool   // all bytes up to the end of the file were sent
}

// Gate lets as many bytes pass as it is told to.
type Gate struct {
	mu      sync.Mutex
	left    int64
	open    bool
	changed signal
}

// feedSession is what a Feed knows about a control connection.
type feedSession struct {
	dir    string
	offset int64
}

// signal wakes those who wait for a change. It makes its channel when somebody waits, so that a Gate or a Feed made
// outside a synctest bubble works in it.
type signal struct{ channel chan struct{} }

// next returns a channel that the next send closes.
func (s *signal) next() <-chan struct{} {
	if s.channel == nil {
		s.channel = make(chan struct{})
	}
	return s.channel
}

func (s *signal) send() {
	if s.channel != nil {
		close(s.channel)
		s.channel = nil
	}
}

// NewFeed returns a Feed that sends files. The first of paces is for the first RETR that any connection sends, the
// second for the second and so on; the last is for all further ones. Without paces, the Feed only counts.
func NewFeed(files afero.Fs, paces ...Pace) *Feed {
	if len(paces) == 0 {
		paces = []Pace{{}}
	}
	return PlanFeed(files, func(n int, _ Retrieval) Pace { return paces[min(n, len(paces))-1] })
}

// PlanFeed is like NewFeed, with the pace of the nth RETR, counted from 1, from plan: it may depend on the control
// connection, the path and the offset. Calls of plan are not concurrent.
func PlanFeed(files afero.Fs, plan func(n int, r Retrieval) Pace) *Feed {
	return &Feed{files: files, plan: plan, sessions: map[int]*feedSession{}}
}

// NewGate returns a gate that lets n bytes pass, and then waits for Let or Open.
func NewGate(n int64) *Gate { return &Gate{left: n} }

// Let lets n more bytes pass.
func (g *Gate) Let(n int64) { g.change(n, false) }

// Open lets all bytes pass from now on.
func (g *Gate) Open() { g.change(0, true) }

func (g *Gate) change(more int64, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left += more
	g.open = g.open || open
	g.changed.send()
}

// take waits until a byte may pass, and returns how many of at most n may. It returns 0 if gone is closed first.
func (g *Gate) take(n int64, gone <-chan struct{}) int64 {
	for {
		g.mu.Lock()
		if g.open || g.left > 0 {
			if !g.open {
				n = min(n, g.left)
				g.left -= n
			}
			g.mu.Unlock()
			return n
		}
		changed := g.changed.next()
		g.mu.Unlock()
		select {
		case <-changed:
		case <-gone:
			return 0
		}
	}
}

// Retrievals returns every RETR so far, in order.
func (f *Feed) Retrievals() (all []Retrieval) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.retrievals {
		all = append(all, *r)
	}
	return all
}

// Sent returns how many bytes of files were sent so far. What exceeds the size of the file was sent twice.
func (f *Feed) Sent() (n int64) {
	for _, r := range f.Retrievals() {
		n += r.Sent
	}
	return n
}

// LastSent returns when bytes of a file were last sent; the zero time means never.
func (f *Feed) LastSent() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// Most returns how many control connections were open at the same time at most, refused ones included, and how many
// retrievals were under way.
func (f *Feed) Most() (connections, retrievals int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connections, f.most
}

// Await returns nil as soon as enough returns true for the retrievals, or ctx's error. In a synctest bubble
// synctest.Wait is often enough.
func (f *Feed) Await(ctx context.Context, enough func([]Retrieval) bool) error {
	for {
		f.mu.Lock()
		changed := f.changed.next()
		f.mu.Unlock()
		if enough(f.Retrievals()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("ftptest: waiting for retrievals: %w", ctx.Err())
		}
	}
}

// Fault is for [testserver.Options]. It answers RETR, and leaves every other command to the server.
func (f *Feed) Fault(c *testserver.Conn) testserver.Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[c.Num]
	if s == nil {
		s = &feedSession{dir: "/"}
		f.sessions[c.Num] = s
	}
	switch c.Verb {
	case "":
		f.connections = max(f.connections, c.Open)
	case "CWD":
		s.dir = s.path(c.Arg)
	case "CDUP":
		s.dir = path.Dir(s.dir)
	case "REST":
		s.offset, _ = strconv.ParseInt(c.Arg, 10, 64)
	case "RETR":
		name := s.path(c.Arg)
		r := &Retrieval{Conn: c.Num, Path: name, Offset: s.offset}
		s.offset = 0
		if info, err := f.files.Stat(name); err != nil || info.IsDir() {
			return nil // the server refuses it
		}
		f.retrievals = append(f.retrievals, r)
		pace := f.plan(len(f.retrievals), *r)
		return func(c *testserver.Conn) error { return f.retrieve(c, r, pace) }
	}
	return nil
}

func (s *feedSession) path(arg string) string {
	if path.IsAbs(arg) {
		return path.Clean(arg)
	}
	return path.Join(s.dir, arg)
}

// update changes a retrieval and wakes Await.
func (f *Feed) update(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	n := 0
	for _, r := range f.retrievals {
		if !r.Over {
			n++
		}
	}
	f.most = max(f.most, n)
	f.changed.send()
}

// retrieve answers RETR.
func (f *Feed) retrieve(c *testserver.Conn, r *Retrieval, pace Pace) error {
	f.update(func() {})
	defer f.update(func() { r.Over = true })
	if pace.Refuse != "" {
		return testserver.Reply(pace.Refuse)(c)
	}
	file, left, err := f.open(r, pace)
	if err != nil {
		return testserver.Reply("451 " + err.Error())(c)
	}
	defer file.Close()
	data := c.Data()
	if data == nil {
		return testserver.Reply("425 No data connection.")(c)
	}
	if err := testserver.Reply("150 Here it comes.")(c); err != nil {
		return err
	}
	if secure, ok := data.(*tls.Conn); ok && secure.Handshake() != nil { // even if nothing is to be sent
		return broken(c)
	}
	s := sending{feed: f, retrieval: r, pace: pace, to: data, began: time.Now(), gone: make(chan struct{})}
	go s.watch(data)
	return s.send(file, left)(c)
}

// open opens the file at the place where a retrieval starts, and returns how many bytes are left from there.
func (f *Feed) open(r *Retrieval, pace Pace) (file afero.File, left int64, err error) {
	if file, err = f.files.Open(r.Path); err != nil {
		return nil, 0, err
	}
	size, err := file.Seek(0, io.SeekEnd)
	start := min(r.Offset, size)
	if pace.IgnoreREST {
		start = 0
	}
	if err == nil {
		_, err = file.Seek(start, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
	}
	return file, size - start, err
}

// broken ends a transfer that the client has left.
var broken = testserver.Sequence(testserver.Data("", testserver.Closed), testserver.Reply("426 The client has gone."))

// sending writes to a data connection at a pace.
type sending struct {
	feed      *Feed
	retrieval *Retrieval
	pace      Pace
	to        io.Writer
	began     time.Time
	sent      int64
	gone      chan struct{} // closed when the client, or the server, has closed the connection
}

// send returns what ends the transfer, once the bytes that are left in file have been sent.
func (s *sending) send(file io.Reader, left int64) testserver.Action {
	end, n := testserver.Closed, left
	if s.pace.End != 0 && s.pace.After < left {
		end, n = s.pace.End, s.pace.After
	}
	_, err := io.CopyBuffer(struct{ io.Writer }{s}, io.LimitReader(file, n), make([]byte, s.chunk()))
	if err != nil {
		return broken
	}
	if end == testserver.Stalled {
		<-s.gone
		return broken
	}
	s.feed.update(func() { s.retrieval.Whole = n == left })
	return testserver.Sequence(testserver.Data("", end), testserver.Reply(cmp.Or(s.pace.Final, "226 Done.")))
}

// errGone is the error of a Write that waited when the client went away.
var errGone = errors.New("the client has gone")

// watch waits for the end of the data connection, on which the client sends nothing.
func (s *sending) watch(data io.Reader) {
	_, _ = io.Copy(io.Discard, data)
	close(s.gone)
}

// chunk is how many bytes are sent at once: at most what comes in a twentieth of a second.
func (s *sending) chunk() int64 {
	const most = 16 << 10
	if s.pace.Rate == 0 {
		return most
	}
	return min(most, max(1, s.pace.Rate/20))
}

// Write sends p when the gate and the rate allow it.
func (s *sending) Write(p []byte) (done int, err error) {
	for done < len(p) {
		n := int64(len(p) - done)
		if s.pace.Gate != nil {
			if n = s.pace.Gate.take(n, s.gone); n == 0 {
				return done, errGone
			}
		}
		if err := s.wait(n); err != nil {
			return done, err
		}
		wrote, err := s.to.Write(p[done : done+int(n)])
		done += wrote
		s.feed.update(func() {
			s.retrieval.Sent += int64(wrote)
			s.feed.last = time.Now()
		})
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// wait waits until the rate allows n more bytes.
func (s *sending) wait(n int64) error {
	s.sent += n
	if s.pace.Rate == 0 {
		return nil
	}
	due := s.began.Add(time.Duration(float64(s.sent) / float64(s.pace.Rate) * float64(time.Second)))
	left := time.Until(due)
	if left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.gone:
		return errGone
	}
}
