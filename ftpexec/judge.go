package ftpexec

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/lazy"
)

// verb describes a command: how it is sent, and what its replies mean.
type verb struct {
	stage   Stage
	refused error // what a refusal means; nil if the server may refuse the command
	finds   bool  // 550 means that the file it names does not exist; MLSD and LIST name none
	names   bool  // its argument is the name of a file
	basic   bool  // every server has it
	lists   bool  // it lists a directory
	null    bool  // without an argument it is sent with a null argument: "CWD "

	// argument returns the argument of a command that is known only when it is sent; nil: the step has it.
	argument func(*run, step) (string, error)
	// needless reports whether a step that is about to be sent is no longer needed; nil: it is always needed.
	needless func(*run, step) bool
	// judge decides what a reply means. If judge is nil, a reply is a refusal unless accepts approves it, and accepted says
	// what an accepted reply means. If accepts is nil, only 1yz is a refusal, because the server may refuse the command.
	judge    func(state, step, wire.Reply) decision
	accepts  func(wire.Reply) bool
	accepted func(state, step, wire.Reply) decision
}

// verbs is the one table of commands. init sets it, because its functions refer to it.
var verbs map[string]verb

func init() {
	insecure := func(r *run, _ step) bool { return !r.conn.Secure() }
	ready := func(r *run, _ step) bool { return r.port != 0 }
	admitted := func(r *run, _ step) bool { return r.admitted && !r.known().wantsPASS }
	unreachable := func(_ *run, st step) bool {
		return st.about != nil && st.about.gone != nil && !st.back
	}
	fact := verb{stage: StageTransfer, names: true, needless: unreachable, accepted: judgeFact}
	passive := verb{stage: StageTransfer, refused: errPassive, needless: ready, judge: judgePort}
	active := passive
	active.refused = errActive
	active.argument = func(r *run, st step) (string, error) { return r.announce(st.Verb) }
	entries := verb{stage: StageTransfer, refused: errTransfer, lists: true, judge: judgeTransfer}
	names := entries
	names.finds = true
	verbs = map[string]verb{
		"connect": {stage: StageConnect, refused: ErrConnect},
		"AUTH":    {stage: StageConnect, refused: errNoTLS, judge: judgeAUTH},
		"PBSZ":    {stage: StageConnect, refused: errClearData, needless: insecure},
		"PROT":    {stage: StageConnect, refused: errClearData, needless: insecure, judge: judgePROT},

		"USER": {stage: StageLogin, refused: ErrLogin, basic: true, null: true, argument: user, judge: judgeLogin},
		"PASS": {stage: StageLogin, refused: ErrLogin, basic: true, null: true,
			argument: password, needless: admitted, judge: judgeLogin},
		"ACCT": {stage: StageLogin, refused: ErrLogin, null: true, argument: account, judge: judgeLogin},
		"FEAT": {accepted: judgeFEAT},
		"OPTS": {needless: func(r *run, _ step) bool { return r.known().utf8 != offers },
			accepted: func(s state, _ step, _ wire.Reply) decision {
				s.utf8 = true
				return decision{state: s}
			}},
		"PWD": {accepted: judgePWD},

		"CWD": {stage: StageDirectory, refused: errDirectory, basic: true, null: true,
			needless: unreachable, judge: judgeCWD},
		"TYPE": {stage: StageTransfer, refused: errType, basic: true,
			accepts: wire.Reply.OK, accepted: func(s state, st step, _ wire.Reply) decision {
				s.typ = st.Arg
				return decision{state: s}
			}},
		"SIZE": fact,
		"MDTM": fact,
		"MLST": fact,

		"EPSV": passive,
		"PASV": passive,
		"EPRT": active,
		"PORT": active,
		// RFC 3659 section 5.3: only 3yz means that RETR starts at the offset.
		"REST": {stage: StageTransfer, refused: ErrNoRestart,
			accepts: func(r wire.Reply) bool { return r.First() == 3 }},
		"RETR": {stage: StageTransfer, refused: errTransfer, finds: true, names: true, judge: judgeTransfer},
		"NLST": names,
		"LIST": entries,
		"MLSD": entries,
	}
}

// state is what the meaning of a reply depends on: where the session stands, what is known about the server, and what
// the run is for. It is a value. Judging a reply changes nothing but the copy in the decision.
type state struct {
	standing
	habits habits   // of the server
	file   question // what the command is about, and what the server has said about it
	offset int64    // where RETR starts
	next   []step   // sent after the command, and not answered

	sequential bool // one command is sent at a time
	loggingIn  bool // the command was sent together with PASS
	secure     bool // the control connection is under TLS
	noTicket   bool // it is, and has no session that a data connection could resume
	ipv4       bool // it is over IPv4
	active     bool // the server opens the data connections
	triesTLS   bool // TLS is asked for and not required
	canPASS    bool // there is a password, or there may be one
}

// habits are what a Client has learned about a server.
type habits struct {
	greets     bool // it has sent a greeting
	sequential bool // it loses commands sent ahead of replies
	noEPSV     bool // its EPSV ports cannot be reached
	late       bool // it accepts EPSV or PASV only after the final reply of a transfer
	how        int  // the index of the first of ways to list a directory that may work
	listed     bool // that way has listed something
	utf8       offer
	octets     bool // it lists names that are not UTF-8 after OPTS UTF8 ON
	noMLST     bool // it does not know MLST
	abrupt     bool // it ends data under TLS without close_notify
	// its replies after a transfer that was left are not clear, or it ends the connection then
	unsettled bool
	// it, or one of the servers behind its name, has accepted REST and sent a file from its first byte
	ignoresREST bool
	wantsPASS   bool      // it refuses commands until PASS, even after a 230 to USER
	counts      string    // "SIZE" or "150": which of the two is right where they have different sizes; "": not known
	stalePort   int       // a port that a refused transfer left behind and the connection got again; 0 if there is none
	onePort     bool      // a new connection got that port too: the server has no other
	failed      []string  // its addresses that did not serve, the last to fail last; never changed in place
	shut        time.Time // when a connection that it had admitted was last closed
}

// offer is whether a server lists UTF8 in its reply to FEAT, or what is left to do about that.
type offer uint8

const (
	unasked offer = iota // FEAT shows it
	offers               // OPTS UTF8 ON is to be sent
	settled              // nothing is to be sent
)

// decision is what a reply means.
type decision struct {
	state          // what the state is now
	err     error  // ends the run; nil if it goes on
	abandon error  // why the connection is not used any more; nil if it is
	lost    *Error // why the directory of a question cannot be entered
	learn   func(*habits)
	note    string // for the trace
	deed    deed
}

// deed is what a run does because of a reply, besides going on.
type deed int

const (
	nothing   deed = iota
	startTLS       // on the control connection
	clearData      // leave TLS out on data connections
	sendACCT       // before all that was sent ahead
	takeData       // the transfer has begun
	endData        // the transfer was refused
	noData         // there is none: the refusal stands for an empty directory
)

// judge decides what a reply to a step means, by its first digit (RFC 1123 section 4.1.2.11).
func judge(s state, st step, reply wire.Reply) decision {
	if s.disordered(st, reply) {
		return s.abandon(wire.Disorder(reply))
	}
	s.recall(st)
	if s.passDue(st, reply) {
		return s.abandon(errPASSDue)
	}
	switch v := verbs[st.Verb]; {
	case v.judge != nil:
		return v.judge(s, st, reply)
	case v.accepts != nil && !v.accepts(reply), reply.First() == 1:
		return s.refusal(st, reply)
	case v.accepted != nil:
		return v.accepted(s, st, reply)
	}
	return decision{state: s}
}

// abandon ends the run and the connection.
func (s state) abandon(err error) decision { return decision{state: s, err: err, abandon: err} }

// refusal ends the run because of a reply that is not a success.
func (s state) refusal(st step, reply wire.Reply) decision {
	d := decision{state: s}
	e := s.refused(st, reply)
	d.err = e
	if e.breaks {
		d.abandon = e
	}
	return d
}

// answer returns what a reply to a step says.
func (s *state) answer(st step, reply wire.Reply) answer {
	return answerTo(st.Command, reply, s.file.url, s.place)
}

// refused returns the error for a reply to a step that is not a success. After an unexpected reply another may or may
// not follow, so the connection cannot be used again.
func (s *state) refused(st step, reply wire.Reply) *Error {
	e := newError(st.Command, s.file.url, nil)
	e.take(reply, s.answer(st, reply))
	e.refuse(st.Command)
	if reply.First() == 1 || reply.First() == 3 {
		e.Err = and(e.Err, errUnexpected)
	}
	e.final = e.Code == 431 && errors.Is(e.Err, errNoTLS)
	e.breaks = errors.Is(e.Err, errUnexpected) || e.Stage == StageConnect
	e.readLimits(st.Command, s.secure)
	return e
}

// judgeFEAT keeps the reply to FEAT.
func judgeFEAT(s state, _ step, reply wire.Reply) decision {
	s.features = &reply
	utf8 := settled
	if offered(&reply, "UTF8", "") {
		utf8 = offers
	}
	return decision{state: s, learn: func(h *habits) { h.utf8 = utf8 }}
}

// judgePWD keeps the directory after the login.
func judgePWD(s state, _ step, reply wire.Reply) decision {
	s.home = directoryIn(reply)
	return decision{state: s}
}

// judgeAUTH judges the reply to AUTH. If the server does not offer TLS, a Client that only tries it goes on without.
func judgeAUTH(s state, st step, reply wire.Reply) decision {
	switch {
	case reply.OK():
		return decision{state: s, deed: startTLS}
	case unavailable(reply) && s.triesTLS:
		return decision{state: s, note: "TLS is not available (" + reply.String() + "): continuing unencrypted"}
	}
	return s.refusal(st, reply)
}

// unavailable reports whether a reply to AUTH or PROT says that the server does not have TLS. The server will say 431
// (RFC 4217 section 10.1) again, although it is a 4yz.
func unavailable(reply wire.Reply) bool { return reply.First() == 5 || reply.Code == 431 }

// judgePROT judges the reply to PROT. If the server protects no data connections, a Client that only tries TLS goes on
// without TLS on them.
func judgePROT(s state, st step, reply wire.Reply) decision {
	switch {
	case reply.OK():
		return decision{state: s}
	case unavailable(reply) && s.triesTLS:
		note := "TLS is not available for data (" + reply.String() + "): data is unencrypted"
		return decision{state: s, note: note, deed: clearData}
	}
	return s.refusal(st, reply)
}

// judgeLogin judges the login: 332 asks for an account (RFC 959 section 4.1.1). A PASS that was sent with USER does not
// count if the server admitted the user without it.
func judgeLogin(s state, st step, reply wire.Reply) decision {
	switch {
	case st.Verb == "PASS" && s.admitted && reply.First() > 2,
		st.Verb == "USER" && reply.First() == 3 && reply.Code != 332:
		return decision{state: s}
	case reply.Code == 332 && st.Verb != "ACCT":
		s.admitted = true
		return decision{state: s, deed: sendACCT}
	case reply.OK():
		s.admitted = true
		s.authenticated = s.authenticated || st.Verb == "PASS"
		s.spent = false
		return decision{state: s}
	}
	return s.refusal(st, reply)
}

// errPASSDue means that a server that admitted the user without a password refuses commands as long as none is sent.
var errPASSDue = errors.New("the server wants PASS although it admitted the user without")

// passDue reports whether a refusal means errPASSDue, and a password can be sent.
func (s *state) passDue(st step, reply wire.Reply) bool {
	stage := verbs[st.Verb].stage
	if reply.Code != 530 || stage == StageConnect || stage == StageLogin || !s.admitted || s.authenticated {
		return false
	}
	return s.canPASS && !s.habits.wantsPASS
}

// judgeCWD keeps the directory that a CWD leads to. A refused CWD that only asks whether a name is a directory leaves the
// working directory as it was. If the server refuses the way back, the plan runs on a new connection.
func judgeCWD(s state, st step, reply wire.Reply) decision {
	if st.probe {
		s.file.answered++
		s.file.dir = reply.OK()
	}
	switch {
	case reply.OK() && st.back:
		s.dirs = nil
		s.lost = false
		return decision{state: s}
	case reply.OK():
		s.dirs = append(s.dirs[:len(s.dirs):len(s.dirs)], st.Arg)
		return decision{state: s}
	}
	e := s.refused(st, reply)
	if st.probe && !e.breaks {
		s.file.noDir = e
		return decision{state: s}
	}
	d := decision{state: s, err: e}
	d.state.lost = true
	switch {
	case st.back || e.breaks:
		d.abandon = e
	case e.Hint == "" && !e.general():
		e.Hint = e.inOneStep(s.file.url, len(s.dirs))
	}
	if st.about != nil && d.abandon == nil {
		d.err = nil
		d.lost = e
		return d
	}
	d.typ = "" // the replies to commands sent with it are not read
	return d
}

// errStalePort means that the server names the port of a refused transfer again. The server did not use its data
// connection on that port. If it used that connection for the next transfer, no byte of the transfer would arrive.
var errStalePort = fmt.Errorf("%w: the port of a refused transfer again", ErrProtocol)

// judgePort takes the port of the data connection. If the reply to EPSV or EPRT (RFC 2428) is not usable, PASV or PORT
// (RFC 959) follows, PORT only over IPv4. The address in a reply to PASV is used only if [Client.PassiveHost] is set.
func judgePort(s state, st step, reply wire.Reply) decision {
	s.named = ""
	if reply.OK() {
		s.named, s.port = s.portIn(st.Verb, reply)
	}
	again, learn := s.portIsStale()
	d := decision{state: s, learn: learn}
	switch {
	case again:
		d.note = "the server may still have the data connection of the refused transfer: " +
			"trying again on a new connection"
		d.err = errStalePort
		d.abandon = errStalePort
	case reply.First() == 1:
		d = s.refusal(st, reply)
		d.learn = learn
	case st.advance:
		d.advance = ""
		d.advanced = s.port != 0
		if !d.advanced { // the command follows again at its usual place
			d.learn = isLate
		}
	case s.port != 0:
	case st.Verb == "PASV", st.Verb == "PORT", st.Verb == "EPRT" && !s.ipv4:
		return s.refusal(st, reply)
	case st.Verb == "EPSV":
		d.noEPSV = true
	}
	return d
}

// portIsStale reports whether the port is that of a refused transfer, and the server has others. A server that gives it to
// the next connection too has no other. portIsStale also returns what that shows.
func (s *state) portIsStale() (bool, func(*habits)) {
	port := s.port
	switch {
	case port == 0 || s.active || s.habits.onePort:
	case port == s.stalePort:
		return true, func(h *habits) { h.stalePort = port }
	case s.stalePort == 0 && port == s.habits.stalePort:
		return false, hasOnePort
	}
	return false, nil
}

// portIn returns the port that a positive reply means; 0 if it names none. The host is that of PASV.
func (s *state) portIn(verb string, reply wire.Reply) (host string, port int) {
	switch verb {
	case "EPSV":
		return "", extendedPort(reply.LastLine())
	case "PASV":
		return passiveAddress(reply.Raw)
	}
	return "", s.listens
}

// errNoEntries is a refusal that stands for an empty directory.
var errNoEntries = errors.New("no entries")

// judgeTransfer judges the reply that starts a transfer, or refuses it.
func judgeTransfer(s state, st step, reply wire.Reply) decision {
	lists := verbs[st.Verb].lists
	if reply.First() <= 2 {
		s.stalePort = 0
		s.opened(st, reply)
		return decision{state: s, deed: takeData}
	}
	s.stalePort = s.port
	if lists && s.answer(st, reply).means(empty) {
		return decision{state: s, err: errNoEntries, deed: noData}
	}
	// A server may keep the offset of REST for the RETR after the one it refused.
	// A relay may say 425 in place of the server's refusal, and then take that refusal for the next reply.
	s.spent = s.offset > 0 || reply.Code == 425
	d := s.refusal(st, reply)
	d.deed = endData
	e := d.err.(*Error)
	if s.lacksTicket(reply) {
		e.Err = errNoTicket
		e.Hint = sessionOptions
	} else {
		s.explain(st, e)
	}
	return d
}

// opened takes the size from the reply that starts a transfer. With an offset the number may count only the rest. Where
// SIZE has another number, one of the two is right: SIZE may count the text of a link, and the 150 may have lost digits.
// What has come of an earlier file of the server shows which. Until then the larger number counts.
func (s *state) opened(st step, reply wire.Reply) {
	size := s.file.info.Size
	if s.offset > 0 || verbs[st.Verb].lists || !strings.Contains(reply.Raw, " bytes") ||
		size >= 0 && strings.Contains(reply.Raw, strconv.FormatInt(size, 10)+" bytes") {
		return
	}
	n := announcedIn(s.answer(st, reply))
	counts := s.habits.counts
	switch {
	case n < 0, n == size:
	case size < 0, counts == "150", counts == "" && n > size:
		s.file.info.Size = n
		s.file.by150 = true
		s.file.other = size
	default:
		s.file.other = n
	}
}

// explain finds out why RETR was refused with e, by what the server has said to SIZE.
func (s *state) explain(st step, e *Error) {
	found := s.file.info.Size >= 0
	switch {
	case st.Verb != "RETR" || e.general() || e.answer.means(denied):
	case e.answer.means(directory):
		e.isDirectory()
	case found: // there is another reason
		e.Err = errTransfer
		e.Hint = ""
		e.perhapsDirectory = e.Code == 550 || e.Code == 551
	case e.Code == 550, e.Code == 500:
	case s.missing(e.Code):
		e.Err = ErrNotFound
		e.final = true
	default:
		e.perhapsDirectory = e.Code == 551 || e.Code == 425 && s.sizeRefused(directory)
	}
}

// sizeRefused reports whether the refusal of SIZE has a meaning.
func (s *state) sizeRefused(m meaning) bool {
	retr := step{Command: withArg("RETR", s.file.url.Name)}
	return s.file.noSize != nil && s.answer(retr, *s.file.noSize).means(m)
}

// missing reports whether the server has refused SIZE too, so that the refusal of RETR with this code means that there
// is no such file. 425 has another meaning, unless the words to SIZE are clear.
func (s *state) missing(code int) bool {
	refusal := s.file.noSize
	if refusal == nil || slices.Contains([]int{500, 501, 502, 503, 504, 530}, refusal.Code) {
		return false
	}
	switch code {
	case 450, 551:
		return true
	case 425:
		return s.sizeRefused(absent)
	}
	return false
}

// judgeFact keeps what a reply says about a file.
func judgeFact(s state, st step, reply wire.Reply) decision {
	s.file.answered++
	s.file.info.learn(st.Verb, reply)
	if st.Verb == "SIZE" && reply.First() > 3 {
		refusal := reply
		s.file.noSize = &refusal
	}
	if st.Verb == "MLST" {
		s.file.facts = reply
	}
	if reply.Code != 550 || st.about == nil {
		return decision{state: s}
	}
	s.file.absent++
	if s.file.err == nil {
		// as RETR would be
		s.file.err = s.refused(step{Command: withArg("RETR", st.Arg)}, reply)
		s.file.err.Op = st.shown()
	}
	return decision{state: s}
}

// aborts matches every wording of [aborted], in less time.
var aborts = lazy.Regexp(`(?i)abort|fail`)

// judgeFinal decides what the final reply to op, a transfer of n bytes, means: nil if the data is whole as far as the
// reply says.
func judgeFinal(s state, op Command, reply wire.Reply, n int64) error {
	if reply.Ends() && !verbs[op.Verb].lists && !aborts().MatchString(reply.Raw) {
		return nil
	}
	st := step{Command: op}
	e := newError(op, s.file.url, nil)
	e.take(reply, s.answer(st, reply))
	if n == 0 && s.lacksTicket(reply) {
		e.Err = errNoTicket
		e.Hint = sessionOptions
		return e
	}
	if reply.First() == 5 && n == 0 { // refused, although 150 came first
		e.refuse(op)
		e.readLimits(op, s.secure)
		s.explain(st, e)
		return e
	}
	e.Err = incomplete(op, reply, e.answer)
	if e.Err == nil {
		return nil
	}
	if e.Err == errPartial {
		e.Hint = "the others can be fetched by a list of their URLs"
	}
	e.readLimits(op, s.secure)
	return e
}

// incomplete returns why the data of op is not whole if the transfer ends with this reply, or nil.
func incomplete(op Command, reply wire.Reply, told answer) error {
	switch {
	case !reply.Ends() && !told.means(done), told.means(aborted):
		return ErrTruncated
	case !verbs[op.Verb].lists:
		return nil
	case told.means(unopened) && op.Verb == "NLST":
		return ErrNotFound
	case told.means(unopened):
		return errTransfer
	case told.means(partial):
		return errPartial
	}
	return nil
}

var (
	// errPartial is not temporary: the server will not list all names next time either.
	errPartial = fmt.Errorf("%w: the server does not list all names", ErrTruncated)
	errAbrupt  = fmt.Errorf(
		"%w: TLS ended without close_notify, and no size is known", ErrTruncated)
	errUnended = fmt.Errorf("%w: its last line has no end", ErrTruncated)
)

// unlisted reports whether err is a refusal of the listing op after which the next way to list may succeed. For MLSD,
// the server does not know the command or says that there is no such directory. For LIST and NLST the code is 50z, 530
// or 55z; for LIST -a also 450, because the server may treat "-a" as a name. A refusal that another command would meet
// too, such as one that requires TLS, does not count.
func unlisted(op Command, err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Op != op.shown() || e.general() {
		return false
	}
	if op.Verb == "MLSD" {
		return unknownCommand(e) || errors.Is(e, fs.ErrNotExist)
	}
	return e.Code/10 == 50 || e.Code == 530 || e.Code/10 == 55 || e.Code == 450 && op.Arg != ""
}

// unknownCommand reports whether err is a refusal because the server does not know the command.
func unknownCommand(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains([]int{500, 501, 502, 504}, e.Code)
}
