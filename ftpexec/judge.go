package ftpexec

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/internal/local/localfile"
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
	// judged decides what a reply means. If judged is nil, a reply is a refusal unless right accepts it, and kept
	// records what an accepted reply says. If right is nil, only 1yz is a refusal, because the server may refuse the
	// command.
	judged func(*run, step, wire.Reply) error
	right  func(wire.Reply) bool
	kept   func(*run, step, wire.Reply)
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
	fact := verb{stage: StageTransfer, names: true, needless: unreachable, kept: (*run).tell}
	passive := verb{stage: StageTransfer, refused: errPassive, needless: ready, judged: (*run).ported}
	active := passive
	active.refused = errActive
	active.argument = (*run).announce
	entries := verb{stage: StageTransfer, refused: errTransfer, lists: true, judged: (*run).began}
	names := entries
	names.finds = true
	verbs = map[string]verb{
		"connect": {stage: StageConnect, refused: ErrConnect},
		"AUTH":    {stage: StageConnect, refused: errNoTLS, judged: (*run).secured},
		"PBSZ":    {stage: StageConnect, refused: errClearData, needless: insecure},
		"PROT":    {stage: StageConnect, refused: errClearData, needless: insecure, judged: (*run).protected},

		"USER": {stage: StageLogin, refused: ErrLogin, basic: true, null: true,
			argument: (*run).user, judged: (*run).entered},
		"PASS": {stage: StageLogin, refused: ErrLogin, basic: true, null: true,
			argument: (*run).password, needless: admitted, judged: (*run).entered},
		"ACCT": {stage: StageLogin, refused: ErrLogin, null: true,
			argument: (*run).account, judged: (*run).entered},
		"FEAT": {kept: (*run).featured},
		"OPTS": {needless: func(r *run, _ step) bool { return r.known().utf8 != offers },
			kept: func(r *run, _ step, _ wire.Reply) { r.utf8 = true }},
		"PWD": {kept: func(r *run, _ step, reply wire.Reply) { r.home = directoryIn(reply) }},

		"CWD": {stage: StageDirectory, refused: errDirectory, basic: true, null: true,
			needless: unreachable, judged: (*run).moved},
		"TYPE": {stage: StageTransfer, refused: errType, basic: true,
			right: wire.Reply.OK, kept: func(r *run, st step, _ wire.Reply) { r.typ = st.Arg }},
		"SIZE": fact,
		"MDTM": fact,
		"MLST": fact,

		"EPSV": passive,
		"PASV": passive,
		"EPRT": active,
		"PORT": active,
		// RFC 3659 section 5.3: only 3yz means that RETR starts at the offset.
		"REST": {stage: StageTransfer, refused: ErrNoRestart,
			right: func(r wire.Reply) bool { return r.First() == 3 }},
		"RETR": {stage: StageTransfer, refused: errTransfer, finds: true, names: true, judged: (*run).began},
		"NLST": names,
		"LIST": entries,
		"MLSD": entries,
	}
}

// judge decides what a reply to a step means, by its first digit (RFC 1123 section 4.1.2.11), and records what it says.
// An error ends the run.
func (r *run) judge(st step, reply wire.Reply) error {
	if r.disordered(st, reply) {
		r.conn.Abandon(wire.Disorder(reply))
		return r.conn.Err()
	}
	r.recall(st)
	if r.passDue(st, reply) {
		r.conn.Abandon(errPASSDue)
		return r.conn.Err()
	}
	switch v := verbs[st.Verb]; {
	case v.judged != nil:
		return v.judged(r, st, reply)
	case v.right != nil && !v.right(reply), reply.First() == 1:
		return r.refused(st, reply)
	case v.kept != nil:
		v.kept(r, st, reply)
	}
	return nil
}

// featured records the reply to FEAT.
func (r *run) featured(_ step, reply wire.Reply) {
	r.features = &reply
	r.learn(func(h *habits) {
		h.utf8 = settled
		if offered(&reply, "UTF8", "") {
			h.utf8 = offers
		}
	})
}

// needless reports whether a step that is about to be sent is no longer needed.
func (r *run) needless(st step) bool {
	v := verbs[st.Verb]
	return v.needless != nil && v.needless(r, st)
}

// secured starts TLS after AUTH. If the server does not offer it, a Client that only tries TLS goes on without.
func (r *run) secured(st step, reply wire.Reply) error {
	switch {
	case reply.OK():
		return r.conn.StartTLS()
	case unavailable(reply) && r.client.tries(r.url):
		r.conn.Note("TLS is not available (" + reply.String() + "): continuing unencrypted")
		return nil
	}
	return r.refused(st, reply)
}

// unavailable reports whether a reply to AUTH or PROT says that the server does not have TLS. The server will say 431
// (RFC 4217 section 10.1) again, although it is a 4yz.
func unavailable(reply wire.Reply) bool { return reply.First() == 5 || reply.Code == 431 }

// protected judges the reply to PROT. If the server protects no data connections, a Client that only tries TLS goes on
// without TLS on them.
func (r *run) protected(st step, reply wire.Reply) error {
	switch {
	case reply.OK():
		return nil
	case unavailable(reply) && r.client.tries(r.url):
		r.conn.Note("TLS is not available for data (" + reply.String() + "): data is unencrypted")
		r.conn.ClearData()
		return nil
	}
	return r.refused(st, reply)
}

// entered judges the login: 332 asks for an account (RFC 959 section 4.1.1). A PASS that was sent with USER does not
// count if the server admitted the user without it.
func (r *run) entered(st step, reply wire.Reply) error {
	switch {
	case st.Verb == "PASS" && r.admitted && reply.First() > 2,
		st.Verb == "USER" && reply.First() == 3 && reply.Code != 332:
		return nil
	case reply.Code == 332 && st.Verb != "ACCT":
		r.admitted = true
		return r.insert(step{Command: Command{Verb: "ACCT", secret: true}})
	case reply.OK():
		r.admitted = true
		r.authenticated = r.authenticated || st.Verb == "PASS"
		r.spent = false
		return nil
	}
	return r.refused(st, reply)
}

// errPASSDue means that a server that admitted the user without a password refuses commands as long as none is sent.
var errPASSDue = errors.New("the server wants PASS although it admitted the user without")

// passDue reports whether a refusal means errPASSDue, and a password can be sent.
func (r *run) passDue(st step, reply wire.Reply) bool {
	stage := verbs[st.Verb].stage
	if reply.Code != 530 || stage == StageConnect || stage == StageLogin || !r.admitted || r.authenticated {
		return false
	}
	_, written := r.url.User.Password()
	return (r.url.User == nil || written || r.client.Credentials != nil) && !r.known().wantsPASS
}

// moved records the directory that a CWD leads to. A refused CWD that only asks whether a name is a directory leaves
// the working directory as it was. If the server refuses the way back, moved abandons the connection, and the plan runs
// on a new one.
func (r *run) moved(st step, reply wire.Reply) error {
	q := r.about(st)
	if st.probe {
		q.told++
		q.dir = reply.OK()
	}
	switch {
	case reply.OK() && st.back:
		r.dirs = nil
		r.lost = false
		return nil
	case reply.OK():
		r.dirs = append(r.dirs, st.Arg)
		return nil
	}
	e := r.refused(st, reply)
	if st.probe && r.conn.Err() == nil {
		q.noDir = e
		return nil
	}
	if st.back {
		r.conn.Abandon(e)
	} else if e.Hint == "" && !e.general() {
		e.Hint = e.inOneStep(q.url, len(r.dirs))
	}
	r.lost = true
	if st.about != nil && r.conn.Err() == nil {
		r.lose(q, st.Arg, e)
		return nil
	}
	r.typ = "" // the replies to commands sent with it are not read
	return e
}

// errSpurned means that the server names the port of a refused transfer again. The server did not use its data
// connection on that port. If it used that connection for the next transfer, no byte of the transfer would arrive.
var errSpurned = fmt.Errorf("%w: the port of a refused transfer again", ErrProtocol)

// ported takes the port of the data connection. If the reply to EPSV or EPRT (RFC 2428) is not usable, PASV or PORT
// (RFC 959) follows, PORT only over IPv4. The address in a reply to PASV is used only if [Client.PassiveHost] is set.
func (r *run) ported(st step, reply wire.Reply) error {
	r.named = ""
	if reply.OK() {
		r.port = r.portIn(st.Verb, reply)
	}
	switch {
	case r.again():
		r.conn.Note("the server may still have the data connection of the refused transfer: " +
			"trying again on a new connection")
		r.conn.Abandon(errSpurned)
		return r.failure(st, errSpurned)
	case reply.First() == 1:
		return r.refused(st, reply)
	case st.advance:
		r.advance = ""
		r.advanced = r.port != 0
		if !r.advanced { // the command follows again at its usual place
			r.learn(isLate)
		}
	case r.port != 0:
	case st.Verb == "PASV", st.Verb == "PORT", st.Verb == "EPRT" && !r.conn.IPv4():
		return r.refused(st, reply)
	case st.Verb == "EPSV":
		r.noEPSV = true
	}
	return nil
}

// again reports whether the port is that of a refused transfer, and the server has others. A server that gives it to the
// next connection too has no other.
func (r *run) again() bool {
	h := r.known()
	switch {
	case r.port == 0 || r.client.Active || h.onePort:
	case r.port == r.spurned:
		r.learn(func(h *habits) { h.spurned = r.port })
		return true
	case r.spurned == 0 && r.port == h.spurned:
		r.learn(func(h *habits) { h.onePort = true })
	}
	return false
}

// portIn returns the port that a positive reply means; 0 if it names none.
func (r *run) portIn(verb string, reply wire.Reply) int {
	switch verb {
	case "EPSV":
		return extendedPort(reply.LastLine())
	case "PASV":
		host, port := passiveAddress(reply.Raw)
		r.named = host
		return port
	}
	return r.listens
}

// announce opens a port for the server to connect to, and returns the argument of EPRT or PORT.
func (r *run) announce(st step) (string, error) {
	here, err := r.conn.Listen()
	if err != nil {
		return "", err
	}
	r.listens = here.Port
	if st.Verb == "PORT" {
		address := strings.ReplaceAll(here.IP.String(), ".", ",")
		return fmt.Sprintf("%s,%d,%d", address, here.Port>>8, here.Port&0xff), nil
	}
	family := 2
	if here.IP.To4() != nil {
		family = 1
	}
	return fmt.Sprintf("|%d|%s|%d|", family, here.IP, here.Port), nil
}

// errNoEntries is a refusal that stands for an empty directory.
var errNoEntries = errors.New("no entries")

// began judges the reply that starts a transfer, or refuses it.
func (r *run) began(st step, reply wire.Reply) error {
	lists := verbs[st.Verb].lists
	if tell := r.goal.early.login; lists && tell != nil {
		tell(r.home)
	}
	if reply.First() > 2 {
		r.spurned = r.port
		return r.notBegun(st, reply)
	}
	r.spurned = 0
	r.conn.Began(reply, lists)
	r.opened(st, reply)
	return nil
}

// opened takes the size from the reply that starts a transfer. With an offset the number may count only the rest. Where
// SIZE has another number, one of the two is right: SIZE may count the text of a link, and the 150 may have lost digits.
// What has come of an earlier file of the server shows which. Until then the larger number counts.
func (r *run) opened(st step, reply wire.Reply) {
	size := r.file.info.Size
	if r.goal.offset > 0 || verbs[st.Verb].lists || !strings.Contains(reply.Raw, " bytes") ||
		size >= 0 && strings.Contains(reply.Raw, strconv.FormatInt(size, 10)+" bytes") {
		return
	}
	n := announcedIn(r.answer(st, reply))
	counts := r.known().counts
	switch {
	case n < 0, n == size:
	case size < 0, counts == "150", counts == "" && n > size:
		r.file.info.Size = n
		r.file.by150 = true
		r.file.other = size
	default:
		r.file.other = n
	}
}

// notBegun returns the error for a refused transfer.
func (r *run) notBegun(st step, reply wire.Reply) error {
	if verbs[st.Verb].lists && r.answer(st, reply).means(empty) {
		return errNoEntries
	}
	// A server may keep the offset of REST for the RETR after the one it refused.
	// A relay may say 425 in place of the server's refusal, and then take that refusal for the next reply.
	r.spent = r.goal.offset > 0 || reply.Code == 425
	if err := r.conn.DataFailure(); localfile.Failed(err) {
		return r.failure(st, err) // it is the cause of the refusal
	}
	e := r.refused(st, reply)
	if r.lacksTicket(reply) {
		e.Err = errNoTicket
		e.Hint = sessionOptions
		return e
	}
	r.explain(st, e)
	return e
}

// explain finds out why RETR was refused with e, by what the server has said to SIZE.
func (r *run) explain(st step, e *Error) {
	found := r.file.info.Size >= 0
	switch {
	case st.Verb != "RETR" || e.general() || e.answer.means(denied):
	case e.answer.means(directory):
		e.isDirectory()
	case found: // there is another reason
		e.Err = errTransfer
		e.Hint = ""
		e.perhapsDirectory = e.Code == 550 || e.Code == 551
	case e.Code == 550, e.Code == 500:
	case r.missing(e.Code):
		e.Err = ErrNotFound
		e.final = true
	default:
		e.perhapsDirectory = e.Code == 551 || e.Code == 425 && r.sizeRefused(directory)
	}
}

// sizeRefused reports whether the refusal of SIZE has a meaning.
func (r *run) sizeRefused(m meaning) bool {
	return r.file.noSize != nil && r.answer(step{Command: withArg("RETR", r.url.Name)}, *r.file.noSize).means(m)
}

// missing reports whether the server has refused SIZE too, so that the refusal of RETR with this code means that there
// is no such file. 425 has another meaning, unless the words to SIZE are clear.
func (r *run) missing(code int) bool {
	refusal := r.file.noSize
	if refusal == nil || slices.Contains([]int{500, 501, 502, 503, 504, 530}, refusal.Code) {
		return false
	}
	switch code {
	case 450, 551:
		return true
	case 425:
		return r.sizeRefused(absent)
	}
	return false
}

// aborts matches every wording of [aborted], in less time.
var aborts = lazy.Regexp(`(?i)abort|fail`)

// finish judges the final reply to a transfer of n bytes. It returns the reply; its code is 0 if none came. alone means
// that only the reply shows whether the data is whole.
func (r *run) finish(n int64, alone bool) (wire.Reply, error) {
	op := r.goal.op
	reply, err := r.conn.Finish(alone)
	if errors.Is(r.conn.Err(), wire.ErrDisorder) || err == nil && !belongs(op.Verb, reply.Code) {
		r.loseOrder("one command at a time from the next connection on")
	}
	if err != nil {
		return wire.Reply{}, r.failure(step{Command: op}, err)
	}
	if reply.Ends() && !verbs[op.Verb].lists && !aborts().MatchString(reply.Raw) {
		return reply, nil
	}
	e := newError(op, r.url, nil)
	e.take(reply, r.answer(step{Command: op}, reply))
	if n == 0 && r.lacksTicket(reply) {
		e.Err = errNoTicket
		e.Hint = sessionOptions
		return reply, e
	}
	if reply.First() == 5 && n == 0 { // refused, although 150 came first
		e.refuse(op)
		r.readLimits(e, op)
		r.explain(step{Command: op}, e)
		return reply, e
	}
	e.Err = incomplete(op, reply, e.answer)
	if e.Err == nil {
		return reply, nil
	}
	if e.Err == errPartial {
		e.Hint = "the others can be fetched by a list of their URLs"
	}
	r.readLimits(e, op)
	return reply, e
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

// abrupt returns the error for data that ended under TLS without close_notify, or nil if the server always ends data
// like that. known means that the data is known to be whole, which shows that the server does.
func (r *run) abrupt(known bool) error {
	switch {
	case r.known().abrupt:
		return nil
	case !known:
		return errAbrupt
	}
	r.learn(func(h *habits) { h.abrupt = true })
	r.conn.Note("the server ends data under TLS without close_notify: " +
		"without a size only its reply shows whether a file is whole")
	return nil
}

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
