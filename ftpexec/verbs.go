package ftpexec

import (
	"example.com/ftpfetch/ftpexec/internal/wire"
)

// verb is what the client knows about a command.
type verb struct {
	stage   string // see [Error]
	refused error  // what a refusal means; nil if the server may refuse the command
	finds   bool   // 550 means that what it names does not exist; MLSD and LIST name nothing
	basic   bool   // every server has it
	null    bool   // without an argument it is sent with a null argument: "CWD "

	// argument returns the argument of a command that is known only when it is sent; nil: it is that of the step.
	argument func(*run, step) (string, error)
	// needless reports whether a step that is about to be sent is no longer needed; nil: it always is.
	needless func(*run, step) bool
	// judged decides what a reply means. Without it, a reply that is not right is a refusal, and kept keeps what a right one
	// tells. right may be nil: then all but 1yz are right, because the server may refuse the command.
	judged func(*run, step, wire.Reply) error
	right  func(wire.Reply) bool
	kept   func(*run, step, wire.Reply)
}

// verbs is the one table of commands. init sets it, because its functions refer to it.
var verbs map[string]verb

func init() {
	insecure := func(r *run, _ step) bool { return !r.conn.Secure() }
	ready := func(r *run, _ step) bool { return r.port != 0 }
	unreachable := func(_ *run, st step) bool { return st.about != nil && st.about.gone != nil && !st.back }
	verbs = map[string]verb{
		"connect": {stage: "connect", refused: ErrConnect},
		"AUTH":    {stage: "connect", refused: errNoTLS, judged: (*run).secured},
		"PBSZ":    {stage: "connect", refused: errNoTLS, needless: insecure},
		"PROT":    {stage: "connect", refused: errNoTLS, needless: insecure, right: wire.Reply.OK},

		"USER": {stage: "login", refused: ErrLogin, basic: true, null: true, argument: (*run).user, judged: (*run).entered},
		"PASS": {stage: "login", refused: ErrLogin, basic: true, null: true, argument: (*run).password, judged: (*run).entered,
			needless: func(r *run, _ step) bool { return r.admitted }},
		"ACCT": {stage: "login", refused: ErrLogin, null: true, argument: func(r *run, _ step) (string, error) { return r.supplied("account") }, judged: (*run).entered},
		"FEAT": {kept: func(r *run, _ step, reply wire.Reply) { r.features = &reply }},
		"OPTS": {needless: func(r *run, _ step) bool { return !offered(r.features, "UTF8", "") }},
		"PWD":  {kept: (*run).located},

		"CWD": {stage: "directory", refused: errDirectory, basic: true, null: true, needless: unreachable, judged: (*run).moved},
		"TYPE": {stage: "transfer", refused: errType, basic: true, right: wire.Reply.OK,
			kept: func(r *run, st step, _ wire.Reply) { r.typ = st.Arg }},
		"SIZE": {stage: "transfer", needless: unreachable, kept: (*run).tell},
		"MDTM": {stage: "transfer", needless: unreachable, kept: (*run).tell},
		"MLST": {stage: "transfer", needless: unreachable, kept: (*run).tell},

		"EPSV": {stage: "transfer", refused: errPassive, needless: ready, judged: (*run).ported},
		"PASV": {stage: "transfer", refused: errPassive, needless: ready, judged: (*run).ported},
		"EPRT": {stage: "transfer", refused: errActive, argument: (*run).announce, judged: (*run).ported},
		"PORT": {stage: "transfer", refused: errActive, argument: (*run).announce, needless: ready, judged: (*run).ported},
		// RFC 3659 section 5.3: only 3yz means that RETR starts at the offset.
		"REST": {stage: "transfer", refused: ErrNoRestart, right: func(r wire.Reply) bool { return r.First() == 3 }},
		"RETR": {stage: "transfer", refused: errTransfer, finds: true, judged: (*run).began},
		"NLST": {stage: "transfer", refused: errTransfer, finds: true, judged: (*run).began},
		"LIST": {stage: "transfer", refused: errTransfer, judged: (*run).began},
		"MLSD": {stage: "transfer", refused: errTransfer, judged: (*run).began},
	}
}

// judge decides what a reply to a step means, by its first digit (RFC 1123 section 4.1.2.11), and keeps what it tells.
// An error ends the run.
func (r *run) judge(st step, reply wire.Reply) error {
	v := verbs[st.Verb]
	// aioftp runs the commands that it gets together at the same time: "not implemented" for a command that every server
	// has seems to be the reply to one that was sent with it.
	if v.basic && len(r.out) > 0 && (reply.Code == 500 || reply.Code == 502) {
		r.conn.Abandon(wire.Disorder(reply))
		return r.conn.Err()
	}
	switch {
	case v.judged != nil:
		return v.judged(r, st, reply)
	case v.right != nil && !v.right(reply), reply.First() == 1:
		return r.refused(st, reply)
	case v.kept != nil:
		v.kept(r, st, reply)
	}
	return nil
}

// needless reports whether a step that is about to be sent is no longer needed.
func (r *run) needless(st step) bool {
	v := verbs[st.Verb]
	return v.needless != nil && v.needless(r, st)
}
