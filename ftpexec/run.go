package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// goal is what a run is for.
type goal struct {
	offset int64       // where RETR starts
	more   func() bool // Request.More
	// Request.Unproven: the caller finds out whether RETR starts there
	compares bool
	size     int64   // Request.Size
	listing  bool    // the plan ends in a listing
	entries  bool    // the listing is of whole entries
	early    early   // functions to call before the listing is whole
	op       Command // retrieves or lists
	how      int     // the index of op in ways
	// doubtful is 1 more than the length of a listing that may have been cut off. A second one of that length is whole.
	doubtful int64
	asks     []*question // the files to ask about, in place of a transfer
}

// run carries out a plan on a session. It sends the steps in flights and judges the replies in order.
type run struct {
	*session
	ctx  context.Context // of the call
	url  *urlparse.URL
	goal goal
	file question // what the server says about the file
	mask func(Command) Command

	stop       func()    // ends the effect of ctx on the connection
	kept       bool      // a Body still uses the connection
	sequential bool      // one command a flight
	queue      []step    // not yet sent
	out        []step    // sent and not answered
	refusal    error     // the last way to list was refused so
	tried      []string  // the addresses of the server that did not serve this run
	loggingIn  bool      // the last flight has a PASS, and more
	notStarted error     // why the transfer could not be started
	started    time.Time // when it was
}

// Do retrieves the file that req names, on a connection that no other call uses until the Body ends. The caller must
// close the Response's Body. ctx covers reading Body too. The error is an *[Error], or a *[urlparse.Error] if the URL
// is not valid. It is [ErrNoRestart] if the server cannot begin at req.Offset; Do without an offset may then succeed.
func (c *Client) Do(ctx context.Context, req *Request) (response *Response, err error) {
	if req == nil || req.URL == nil {
		return nil, errNoURL
	}
	if err = c.errNoOffset(req); err != nil {
		return nil, err
	}
	s, err := c.take(ctx, req.URL)
	if err != nil {
		return nil, err
	}
	g := goal{offset: req.Offset, size: req.Size, compares: req.Unproven, more: req.More}
	err = s.run(ctx, req.URL, g, func(r *run) error {
		response, err = r.retrieve()
		return err
	})
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && e.perhapsDirectory && ctx.Err() == nil {
			s.find(ctx, req.URL, e)
		}
		c.put(s)
	}
	return response, err
}

// retrieve starts the transfer at the end of the plan.
func (r *run) retrieve() (*Response, error) {
	if err := (prover{r}).beginsWithin(); err != nil {
		return nil, err
	}
	data, conn, err := r.transfer()
	if err != nil {
		return nil, err
	}
	b := &body{run: r, conn: r.conn, data: data, dataConn: conn, size: -1, text: typeOf(r.url) == "A"}
	info := r.file.info
	response := &b.response
	*response = Response{Body: b, Size: info.Size, ModTime: info.ModTime}
	if b.text {
		response.Body = &textBody{ReadCloser: b, buf: make([]byte, 32<<10)}
		response.Size = -1
	} else if info.Size >= 0 {
		b.size = max(0, info.Size-r.goal.offset)
		conn.Whole(b.size == 0)
	}
	r.kept = true
	return response, nil
}

// transfer starts the transfer of a file, and returns its contents when the data connection is open.
func (r *run) transfer() (data io.Reader, conn *wire.Data, err error) {
	conn, err = r.open()
	if err == nil {
		data, err = r.library.retrieve(r.goal.op.Arg, r.goal.offset, r.port, conn)
	}
	if err == nil {
		err = conn.Wait()
	}
	return data, conn, err
}

// open runs the plan up to the reply that starts its transfer. The command of the transfer is sent while the data
// connection is being opened.
func (r *run) open() (*wire.Data, error) {
	setUp := r.setUp()
	if err := r.runTo(setUp[len(setUp)-1]); err != nil {
		return nil, err
	}
	r.notStarted = nil
	data, err := r.conn.OpenData(r.dataHost(), r.port, r)
	if err != nil {
		return nil, err
	}
	if r.notStarted == nil && r.Receive() == nil {
		return data, nil
	}
	data.Close()
	return nil, r.notStarted
}

// Receive receives the replies up to the one to the command of the transfer.
func (r *run) Receive() error {
	r.notStarted = r.runTo(r.goal.op.Verb)
	return r.notStarted
}

// maxTries bounds the connections of one run. Each try but the last may show one thing about the server, as that the
// kept connection was stale, or that it loses commands sent ahead; again.go and ways.go have them all.
const maxTries = 4

// run runs u's plan, or asks the questions of g, and then calls work. After a failure that can be avoided, it tries
// again.
func (s *session) run(ctx context.Context, u *urlparse.URL, g goal, work func(*run) error) error {
	if err := s.client.validate(u, g); err != nil {
		return err
	}
	r := &run{session: s, ctx: ctx, url: u, goal: g, file: question{url: u}}
	r.mask = masking(u, s.client.secrets.Add)
	r.goal.op = r.mask(final(u))
	if g.entries {
		r.goal.listBy(s.known().how)
	}
	for try := 1; ; try++ {
		reused := s.serves(u)
		err := r.attempt(!reused, work)
		if err == nil {
			return nil
		}
		e := r.failure(step{Command: r.goal.op}, err).unless(ctx)
		r.elsewhere(e)
		switch {
		case r.nextAddress(e):
			try-- // it counts only if the machine serves
		case try < maxTries && r.waitForRoom(e):
		case s.conn.Err() == nil:
			return e
		case try == maxTries || ctx.Err() != nil || !r.mend(err, reused):
			s.conn.Close()
			if ctx.Err() == nil && r.failed(e, reused).brokeAfterRefusal() {
				return r.refusal // it says more
			}
			return e
		}
		s.conn.Close()
		r.tellRetry(e)
	}
}

// mend reports whether another try can avoid err. If so, it records what is to be done differently.
func (r *run) mend(err error, reused bool) bool {
	remedy, ok := r.failed(err, reused).remedy()
	if remedy.learn != nil {
		r.learn(remedy.learn)
	}
	if remedy.note != "" {
		r.conn.Note(remedy.note)
	}
	return ok
}

// validate returns why the Client does not run the plan of u for g, or nil.
func (c *Client) validate(u *urlparse.URL, g goal) error {
	err := u.Check()
	if err == nil && !c.AllowPort {
		err = u.BadPort()
	}
	switch {
	case err != nil:
		return err
	case c.MaxConns < 0:
		err = errors.New("MaxConns is negative: write a number of connections, or 0 for no limit")
	case min(c.Timeout, c.ConnectTimeout, c.MinRateTime) < 0:
		err = errors.New("a time is negative (Timeout, ConnectTimeout, MinRateTime): write 0 for the default")
	case c.Active && c.Proxy != nil && c.Proxy(u.Address()) != nil:
		err = fmt.Errorf("%w: a proxy cannot accept connections", errActive)
	case u.IsDir() && !g.listing && g.asks == nil:
		return about(u, errIsDirectory)
	case g.listing && !u.IsDir():
		return about(u, errNotDirectory)
	default:
		return nil
	}
	return &Error{Op: "open", URL: u.Redacted(), Err: err}
}

// attempt runs the plan once, on a fresh connection or the kept one.
func (r *run) attempt(fresh bool, work func(*run) error) error {
	h := r.known()
	if fresh {
		r.dial(r.url, h)
		r.trace(r.client.traces(r.ctx))
	}
	r.queue = nil
	r.out = nil
	r.advanced = false
	r.stop = r.conn.Begin(r.ctx)
	defer func() {
		if !r.kept {
			r.stop()
			r.conn.Unlisten()
		}
	}()
	if fresh {
		if err := r.connect(h.sequential); err != nil {
			return err
		}
	} else if err := r.conn.Settle(!h.sequential && !r.oneByOne); err != nil {
		return err
	}
	r.port = 0
	r.file = question{url: r.url, info: unknownEntry(r.url), other: -1}
	for _, q := range r.goal.asks {
		*q = question{url: q.url, typ: q.typ, asks: q.asks, info: unknownEntry(q.url)}
	}
	r.sequential = h.sequential || r.oneByOne
	r.room = steps(r.url, r.course(fresh))
	r.queue = r.room
	if r.advance != "" { // the first step is sent already
		r.out = r.queue[:1:1]
		r.queue = r.queue[1:]
	}
	if r.goal.asks != nil {
		if err := r.runTo(""); err != nil || work == nil {
			return err
		}
	}
	if r.goal.unproven(r.begins) {
		if err := (prover{r}).prove(); err != nil {
			return err
		}
	}
	return work(r)
}

// course returns what the steps of the run depend on.
func (r *run) course(fresh bool) course {
	return course{
		goal:    r.goal,
		room:    r.room,
		proof:   r.goal.unproven(r.begins),
		fresh:   fresh,
		auth:    r.client.tries(r.url),
		once:    r.once,
		utf8:    r.toAsk(fresh),
		place:   r.place,
		typ:     r.typ,
		advance: r.advance,
		setUp:   r.setUp(),
		// Under TLS no firewall can read the set-up.
		inClear: r.client.Active || r.url.Scheme == "ftp",
	}
}

// runTo sends the steps of the run up to and including the last step with this verb that is due, or all if verb is "".
// It does nothing if no such step is due.
func (r *run) runTo(verb string) error {
	for verb == "" || r.due(verb) {
		if err := r.Send(); err != nil {
			return err
		}
		if len(r.out) == 0 {
			return nil
		}
		st := r.out[0]
		reply, err := r.conn.Receive()
		if err == nil {
			r.out = r.out[1:]
			err = r.obey(st, reply)
		}
		if err != nil {
			return r.failure(st, err)
		}
	}
	return nil
}

// obey does what a reply means.
func (r *run) obey(st step, reply wire.Reply) error {
	d := judge(r.state(st), st, reply)
	if r.spent && !d.spent {
		r.host.loggedIn()
	}
	r.standing = d.standing
	*r.about(st) = d.file
	if d.learn != nil {
		r.learn(d.learn)
	}
	if d.note != "" {
		r.conn.Note(d.note)
	}
	if d.abandon != nil {
		r.conn.Abandon(d.abandon)
	}
	if d.lost != nil {
		r.goal.lose(st.about, append(slices.Clone(r.dirs), st.Arg), d.lost)
	}
	if err := r.do(d.deed, st, reply); err != nil {
		return err
	}
	return d.err
}

// do does a deed because of a reply.
func (r *run) do(what deed, st step, reply wire.Reply) error {
	lists := verbs[st.Verb].lists
	if tell := r.goal.early.login; lists && tell != nil && what != nothing {
		tell(r.home)
	}
	switch what {
	case startTLS:
		return r.conn.StartTLS()
	case clearData:
		r.conn.ClearData()
	case sendACCT:
		return r.insert(step{Command: Command{Verb: "ACCT", secret: true}})
	case takeData:
		r.started = time.Now()
		r.conn.Began(reply, lists)
	case endData:
		if err := r.conn.DataFailure(); localfile.Failed(err) {
			return err // it is the cause of the refusal
		}
	}
	return nil
}

// state returns what the meaning of the reply to a step depends on.
func (r *run) state(st step) state {
	_, written := r.url.User.Password()
	secure := r.conn.Secure()
	return state{
		standing:   r.standing,
		habits:     r.known(),
		file:       *r.about(st),
		offset:     r.goal.offset,
		next:       r.out,
		sequential: r.sequential,
		loggingIn:  r.loggingIn,
		secure:     secure,
		noTicket:   secure && !r.conn.Resumes(),
		ipv4:       r.conn.IPv4(),
		active:     r.client.Active,
		triesTLS:   r.client.tries(r.url),
		canPASS:    r.url.User == nil || written || r.client.Credentials != nil,
	}
}

// finish receives and judges the final reply to a transfer of n bytes. It returns the reply; its code is 0 if none
// came. alone means that only the reply shows whether the data is whole.
func (r *run) finish(n int64, alone bool) (wire.Reply, error) {
	st := step{Command: r.goal.op}
	reply, err := r.conn.Finish(alone)
	if errors.Is(r.conn.Err(), wire.ErrDisorder) || err == nil && !belongs(st.Verb, reply.Code) {
		r.loseOrder("one command at a time from the next connection on")
	}
	if err != nil {
		return wire.Reply{}, r.failure(st, err)
	}
	return reply, judgeFinal(r.state(st), st.Command, reply, n)
}

// Send sends the next flight if all commands have been answered: one of the flights up to the command of the transfer,
// if the data connection is being opened; see [wire.Transfer].
func (r *run) Send() error {
	if len(r.out) > 0 {
		return nil
	}
	if st, err := r.send(); err != nil {
		return r.failure(st, err)
	}
	return nil
}

// due reports whether a step with this verb is not yet answered.
func (r *run) due(verb string) bool {
	due := func(st step) bool { return st.Verb == verb && !r.needless(st) }
	return slices.ContainsFunc(r.out, due) || slices.ContainsFunc(r.queue, due)
}

// needless reports whether a step that is about to be sent is no longer needed.
func (r *run) needless(st step) bool {
	v := verbs[st.Verb]
	return v.needless != nil && v.needless(r, st)
}

// send sends the next flight. With an error it returns the step that failed: the first one if the connection failed.
func (r *run) send() (step, error) {
	flight := r.flight[:0]
	out := r.sent[:0]
	for len(r.queue) > 0 && (len(flight) == 0 || !r.sequential && r.queue[0].waits == "") {
		st := r.queue[0]
		r.queue = r.queue[1:]
		st.Command = r.mask(st.Command)
		if r.needless(st) {
			continue
		}
		line, err := r.line(st)
		if err != nil {
			return st, err
		}
		out = append(out, st)
		flight = append(flight, line)
	}
	r.out = out
	r.sent = out
	r.flight = flight
	if len(flight) == 0 {
		return step{}, nil
	}
	r.loggingIn = len(flight) > 1 && slices.ContainsFunc(r.out, func(st step) bool { return st.Verb == "PASS" })
	return r.out[0], r.conn.Send(flight...)
}

// line returns a step as it is sent. It asks for a password, an account or a port only now, when it is needed.
func (r *run) line(st step) (_ wire.Line, err error) {
	arg := st.Arg
	if find := verbs[st.Verb].argument; find != nil {
		arg, err = find(r, st)
	}
	line := wire.Line{Text: st.Verb, Arg: arg}
	if arg == "" {
		line.Text = Command{Verb: st.Verb}.line()
	}
	line.Transfer = st.Verb == "RETR" || verbs[st.Verb].lists
	switch {
	case st.secret:
		line.Shown = st.Verb + " " + stars
	case st.shows != "":
		line.Shown = st.display()
	}
	return line, err
}

// insert puts st before the other steps. Steps that were sent already were sent too early: insert discards their
// replies, and the run sends them again.
func (r *run) insert(st step) error {
	for range r.out {
		if _, err := r.conn.Receive(); err != nil {
			return err
		}
	}
	r.queue = slices.Concat([]step{st}, r.out, r.queue)
	r.out = nil
	if len(r.queue) > 1 {
		r.queue[1].waits = forLogin
	}
	return nil
}

// user returns the argument of USER.
func user(r *run, st step) (string, error) {
	_, slip := printable.Slip(st.Arg)
	r.client.secrets.Add(slip)
	return st.Arg, nil
}

// password returns the argument of PASS. From now on nothing shows it.
func password(r *run, _ step) (text string, err error) {
	if r.url.User == nil {
		return email, nil
	}
	text, ok := r.url.User.Password()
	if !ok {
		return r.client.supplied(r.ctx, r.url, "password")
	}
	r.client.secrets.Add(text)
	return text, nil
}

// account returns the argument of ACCT.
func account(r *run, _ step) (string, error) { return r.client.supplied(r.ctx, r.url, "account") }

// supplied returns what Credentials supplies. From now on nothing shows it.
func (c *Client) supplied(ctx context.Context, u *urlparse.URL, what string) (string, error) {
	if c.Credentials == nil {
		return "", ErrNoCredentials
	}
	text, err := c.Credentials(ctx, u.Host, u.User.Username(), what)
	c.secrets.Add(text)
	return text, err
}
