package download

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// connections fetches the missing bytes of one file over several connections at the same time, which share the work
// while it runs: one that is done takes over a part of what the slowest one still has, see takeSpan.
type connections struct {
	*transfer
	ctx    context.Context
	cancel context.CancelCauseFunc // called with an error that stops all connections
	size   int64
	ends   []int64 // where the gaps end that an earlier run has left
	search *search // finds the number of connections; nil if it is given
	over   chan struct{}
	ended  sync.WaitGroup

	mu         sync.Mutex
	want       int            // connections to use
	all        []*connection  // in use
	gaps       partfile.Spans // missing bytes that none of them fetches
	rates      []float64      // of those whose rate is known
	useful     int            // connections that brought bytes
	failed     int            // connections that ended with an error
	err        error          // of the last one of them
	told       bool           // the user knows that there are fewer connections than asked for
	lastFailed time.Time      // when the last one ended with an error
	pause      time.Time      // open no further connection before
	pauses     time.Duration  // how long the last pause was
}

// connection is one of several that fetch a file. connections.mu guards what follows the URL.
type connection struct {
	url     *urlparse.URL
	further bool // it is not the one that the transfer began with

	stop     context.CancelCauseFunc // ends what it is doing, for a reason that work knows
	span     partfile.Span           // what it fetches; its end may move meanwhile: see giveUp and extend
	stream   *partfile.Stream        // nil while it opens its response
	asked    time.Time               // when it asked for its response
	pace     pace
	useful   bool
	replaced bool
}

// These are reasons for which a connection stops before the end of its span.
var (
	errSlow   = errors.New("it is far slower than the others")
	errTaken  = errors.New("others fetch what it had to do")
	errUnused = errors.New("it is not needed any more")
)

// longestPause bounds the time in which no further connection is opened after one has failed. The first pause takes a
// second.
const longestPause = 30 * time.Second

// lookInterval is the time between two looks at the connections.
const lookInterval = 100 * time.Millisecond

// parallel fetches the missing bytes over several connections. resp belongs to the first connection and starts at the
// first missing byte. parallel may return nil although other connections failed and bytes are missing.
func (t *transfer) parallel(ctx context.Context, resp *ftpexec.Response) error {
	s := t.part.Snapshot()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &connections{
		transfer: t, ctx: ctx, cancel: cancel, size: s.Size, want: t.segments,
		gaps: s.Done.Missing(s.Size), over: make(chan struct{}),
	}
	for _, x := range c.gaps {
		c.ends = append(c.ends, x.End)
	}
	if t.Segments == AutoSegments {
		c.search = &t.search
		c.want = min(c.search.number(), t.segments)
	}
	first := &connection{url: t.url}
	c.begin(first, resp, c.grant())
	if t.check != nil { // the digest stays close behind the contiguous head; verify reads again what cannot be read now
		c.ended.Go(func() {
			c.untilOver(func(time.Time) { _ = c.check.follow(ctx, c.part) })
		})
	}
	c.untilOver(c.look)
	c.ended.Wait()
	if fatal := context.Cause(ctx); fatal != nil {
		t.segments = 1
		return fatal
	}
	if c.failed > 0 {
		t.segments = max(1, min(t.segments, c.useful))
		c.tellFewer()
	}
	if len(c.gaps) > 0 {
		return c.err
	}
	return nil
}

// begin starts the first connection, which has a response already, and further ones.
func (c *connections) begin(first *connection, resp *ftpexec.Response, others []*urlparse.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, first)
	for _, u := range others {
		c.all = append(c.all, &connection{url: u, further: true})
	}
	for i, k := range slices.Clone(c.all) {
		if !c.takeSpan(k) {
			c.all = slices.DeleteFunc(c.all, func(x *connection) bool { return x == k })
			c.release(k, nil)
			continue
		}
		if i > 0 {
			resp = nil
		}
		c.start(k, resp)
	}
	if len(c.all) == 0 {
		close(c.over)
	}
}

// grant asks for as many further connections as there are too few, and returns the URL for each that it got.
func (c *connections) grant() (urls []*urlparse.URL) {
	for range c.want - 1 {
		u := c.further()
		if u == nil {
			break
		}
		urls = append(urls, u)
	}
	return urls
}

// further asks for one more connection. It returns the URL to use, or nil.
func (c *connections) further() *urlparse.URL {
	return c.caller.spare()
}

// release tells the caller that a connection is not used any more; err is why it failed, or nil.
func (c *connections) release(k *connection, err error) {
	if k.further {
		c.caller.giveBack(k.url, err)
	}
}

// start makes k fetch its span. resp is the response for it, or nil to request it. The caller must hold mu.
func (c *connections) start(k *connection, resp *ftpexec.Response) {
	c.ended.Go(func() {
		err := guard.Do(func() error { return c.work(k, resp) })
		if errors.Is(err, guard.ErrPanic) {
			c.cancel(err)
		}
		c.remove(k, err)
	})
}

// remove takes k out of the connections in use. err is why it failed, or nil.
func (c *connections) remove(k *connection, err error) {
	c.release(k, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(x *connection) bool { return x == k })
	if err != nil {
		c.failed++
		c.err = err
		now := time.Now()
		if now.Sub(c.lastFailed) > lookInterval { // else it failed together with others
			c.pauses = min(2*c.pauses+time.Second, longestPause)
			c.pause = now.Add(c.pauses)
		}
		c.lastFailed = now
	}
	if len(c.all) == 0 {
		close(c.over)
	}
}

// untilOver calls f at each lookInterval until no connection is left.
func (c *connections) untilOver(f func(now time.Time)) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-c.over:
			return
		case <-ticker.C:
			f(time.Now())
		}
	}
}

// look measures the connections, replaces one that is far slower than the others, and adds or stops some.
func (c *connections) look(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rates = nil
	open := 0
	for _, k := range c.all {
		if k.stream == nil {
			continue
		}
		k.pace.look(now, k.stream.At()-k.span.Start)
		rate, over := k.pace.rate()
		if over > 0 {
			c.rates = append(c.rates, rate)
		}
		if rate > 0 {
			open++
		}
	}
	c.replace(now)
	if c.search != nil {
		n, _ := c.count()
		c.search.look(now, n, open, c.opening())
		c.want = min(c.search.number(), c.segments)
	}
	switch last := c.all[max(0, len(c.all)-1):]; {
	case len(last) == 0 || !last[0].further:
	case len(c.all) > c.want || c.caller.wanted():
		last[0].stop(errUnused)
		return
	}
	c.grow(now)
	opening := slices.ContainsFunc(c.all, func(k *connection) bool { return !k.useful })
	if c.failed > 0 && !opening && len(c.all) < c.want {
		c.tellFewer()
	}
}

// replace opens a connection again that is far slower than the others: the new one may take another path, or reach
// another server of the same name. The caller must hold mu.
func (c *connections) replace(now time.Time) {
	for _, k := range c.all {
		rate, over := k.pace.rate()
		if over == 0 {
			over = now.Sub(k.asked) - c.opening() // without a byte
		}
		if k.stream != nil && !k.replaced && over >= paceTime-lookInterval && rate < median(c.rates)/slowness {
			k.replaced = true
			k.stop(errSlow)
		}
	}
}

// slowness is how many times slower than the median a connection may be before it is replaced.
const slowness = 10

// grow adds connections, if there are too few and there is something to do for them. The caller must hold mu.
func (c *connections) grow(now time.Time) {
	for len(c.all) > 0 && len(c.all) < c.want && !now.Before(c.pause) && c.ctx.Err() == nil {
		if slow, _ := c.slowest(); len(c.gaps) == 0 && slow == nil {
			return
		}
		u := c.further()
		if u == nil {
			return
		}
		k := &connection{url: u, further: true}
		if !c.takeSpan(k) {
			c.release(k, nil)
			return
		}
		c.all = append(c.all, k)
		c.start(k, nil)
		c.pause = now.Add(c.pauses) // after a failure one at a time
	}
}

// tellFewer tells the user once that there are fewer connections than asked for. The caller must hold mu if
// connections are in use.
func (c *connections) tellFewer() {
	if !c.told && c.useful < c.want && c.search == nil {
		c.told = true
		c.note("continuing with at most " + printable.Count(int64(max(1, c.useful)), "connection", "connections"))
	}
}

// takeSpan gives k a span to fetch: a share of the bytes that nobody fetches, or else a part of what the slowest
// connection still has, so that both end together. It returns false if there is nothing worth it. The caller must
// hold mu.
func (c *connections) takeSpan(k *connection) bool {
	k.stream = nil
	k.stop = func(error) {}
	k.asked = time.Now()
	k.pace = pace{}
	k.span = partfile.Span{}
	if c.ctx.Err() != nil {
		return false
	}
	if len(c.gaps) > 0 {
		k.span = partfile.Span{Start: c.gaps[0].Start, End: c.gaps[0].Start + c.share(c.gaps[0])}
		c.gaps = c.gaps.Without(k.span)
		return true
	}
	slow, cut := c.slowest()
	if slow == nil {
		return false
	}
	k.span = slow.giveUp(cut)
	return k.span.Len() > 0
}

// share returns how many bytes of a gap one connection takes.
func (c *connections) share(gap partfile.Span) int64 {
	busy := 0
	for _, k := range c.all {
		if k.span.Len() > 0 {
			busy++
		}
	}
	left := c.gaps.Octets()
	n := left / int64(max(1, len(c.all)-busy))
	if piece := left / c.sharing() * 16 / 25; c.check != nil && (left > c.size/8 || piece > c.worthAsking()) {
		// The digest follows the contiguous head. So the connections take pieces of the file in turns, from its start, and
		// only little of it is left for the digest when the last byte has come.
		n = piece
	}
	n = max(n, minSegment)
	if gap.Len()-n < minSegment {
		n = gap.Len()
	}
	return n
}

// sharing returns how many connections share the file.
func (c *connections) sharing() int64 { return int64(max(1, len(c.all))) }

// hashRate is about how many bytes a second a digest takes.
const hashRate = 1e9

// worthAsking returns how large a piece has to be for a digest to be worth one more request. To hash a smaller one takes
// less time than the request costs; or it comes so soon that no other connection can take over a part of it, and they do
// not end together.
func (c *connections) worthAsking() int64 {
	opening := c.opening()
	hashed := opening.Seconds() * hashRate / float64(c.sharing())
	fetched := 2 * mean(c.rates) * worthwhile(opening).Seconds()
	return int64(max(hashed, fetched))
}

// minSegment is the smallest piece, in bytes, into which a gap is cut.
const minSegment = 1 << 20

// slowest returns the connection that will be done last, and where to cut its span so that another one is done with the
// rest at the same time. It returns nil if no cut helps. The caller must hold mu.
func (c *connections) slowest() (slow *connection, cut int64) {
	usual := cmp.Or(mean(c.rates), 1) // before anything has come, all are alike
	other := load{rate: usual, wait: c.opening()}
	var last load
	for _, k := range c.all {
		if l := c.loadOf(k, usual); l.left > 0 && (slow == nil || l.end() > last.end()) {
			slow = k
			last = l
		}
	}
	if slow == nil || len(c.rates) == 0 && time.Since(slow.asked) < c.opening()+2*lookInterval {
		return nil, 0
	}
	keep := last.keep(other)
	if keep == last.left {
		return nil, 0
	}
	return slow, slow.span.End - last.left + keep
}

// loadOf returns what k still has to do. usual is the rate of a connection that has not brought enough bytes to know.
func (c *connections) loadOf(k *connection, usual float64) load {
	if k.stream != nil {
		rate, over := k.pace.rate()
		if over == 0 && time.Since(k.asked) < paceTime {
			rate = usual
		}
		return load{left: k.span.End - k.stream.At(), rate: rate}
	}
	l := load{left: k.span.Len(), rate: usual, wait: max(0, c.opening()-time.Since(k.asked))}
	if late := time.Since(k.asked); late > 2*c.opening()+paceTime {
		l.rate = 0 // it may never open
	}
	return l
}

// giveUp ends the span of k at a position, or as soon after it as possible, and returns the rest.
func (k *connection) giveUp(at int64) partfile.Span {
	rest := partfile.Span{Start: at, End: k.span.End}
	if k.stream != nil {
		rest.Start = min(k.stream.SetEnd(at), k.span.End)
	}
	k.span.End = rest.Start
	if k.stream == nil && k.span.Len() == 0 || k.stream != nil && k.stream.At() >= rest.Start {
		k.stop(errTaken)
	}
	return rest
}

// work makes k fetch one span after another. After a failure it continues as long as each try brings bytes. resp is the
// response for the first span, or nil to request it.
func (c *connections) work(k *connection, resp *ftpexec.Response) error {
	for {
		n, why, err := c.piece(k, resp)
		resp = nil
		if why == errUnused {
			return nil
		}
		if err != nil && why == nil && n > 0 {
			err = c.retry.Again(c.ctx, err, n)
		}
		if err != nil && why == nil {
			if _, over := errors.AsType[*redo](err); over || errors.Is(err, localfile.ErrLocal) {
				c.cancel(err)
			}
			return err
		}
		c.mu.Lock()
		more := c.takeSpan(k)
		c.mu.Unlock()
		if !more {
			return nil
		}
	}
}

// piece fetches the span of k, from resp if it is not nil, and returns how many of its bytes came. If k was told to
// stop, why is the reason.
func (c *connections) piece(k *connection, resp *ftpexec.Response) (n int64, why, err error) {
	ctx, stop := context.WithCancelCause(c.ctx)
	defer stop(nil)
	c.mu.Lock()
	k.stop = stop
	if k.span.Len() == 0 { // it was taken meanwhile
		stop(errTaken)
	}
	start := k.span.Start
	c.mu.Unlock()
	if resp == nil {
		resp, err = c.open(ctx, k.url, c.part.Snapshot(), start)
	}
	if err == nil {
		defer resp.Body.Close()
		defer context.AfterFunc(ctx, func() { resp.Body.Close() })()
		n, err = c.fetchFor(ctx, k, resp)
	} else {
		c.giveBack(c.detach(k))
	}
	if c.ctx.Err() == nil {
		why = context.Cause(ctx)
	}
	return n, why, err
}

// giveBack makes the bytes of x bytes that no connection fetches.
func (c *connections) giveBack(x partfile.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = c.gaps.Add(x)
}

// fetchFor writes the span of k to the part and returns how many of its bytes count. For the last span of the file, it
// reads until the server confirms the end.
func (c *connections) fetchFor(ctx context.Context, k *connection, resp *ftpexec.Response) (int64, error) {
	s, err := c.attach(k)
	if err != nil {
		c.giveBack(c.detach(k))
		return 0, err
	}
	p := &pump{
		sink:   sink{ctx: ctx, to: s.To, path: c.part.Name(), limit: c.Limit},
		stream: s, extend: func() bool { return c.extend(k) }, body: resp.Body,
	}
	err = p.run()
	x := c.detach(k)
	tail := x.End == c.size
	if context.Cause(ctx) == errTaken && s.At() >= x.End {
		err = nil // the one that has taken the rest compares the bytes before it
	}
	if err == nil && !tail && slices.Contains(c.ends, x.End) {
		err = c.compare(io.MultiReader(bytes.NewReader(p.rest), resp.Body), c.part.After(x.End, overlapSize))
	}
	n, ended := c.part.End(s, err == nil)
	err = cmp.Or(misplaced(ended), err)
	if err == nil && n < x.Len() { // unlikely, because Body returns a better error
		err = ftpexec.ErrTruncated
	}
	c.responded(err == nil && tail)
	c.giveBack(partfile.Span{Start: x.Start + n, End: x.End})
	if n > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !k.useful {
			k.useful = true
			c.useful++
		}
	}
	return n, err
}

// attach opens a stream for the span of k.
func (c *connections) attach(k *connection) (s *partfile.Stream, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.stream, err = c.part.Write(k.span)
	return k.stream, err
}

// detach takes the span away from k, so that its end does not move any more, and returns it.
func (c *connections) detach(k *connection) (x partfile.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x = k.span
	k.span = partfile.Span{}
	k.stream = nil
	return x
}

// extend moves the end of the span of k, which k has reached, if nobody fetches the bytes behind it.
func (c *connections) extend(k *connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.gaps, func(x partfile.Span) bool { return x.Start == k.span.End })
	if i < 0 || context.Cause(c.ctx) != nil {
		return false
	}
	n := c.gaps[i].Len()
	if c.check != nil {
		n = c.share(c.gaps[i])
	}
	more := partfile.Span{Start: k.span.End, End: k.span.End + n}
	c.gaps = c.gaps.Without(more)
	k.span.End = k.stream.SetEnd(more.End)
	return true
}
