package ftpexec

import (
	"example.com/ftpfetch/ftpexec/internal/wire"
)

// verb is what the client knows about a command.
type verb struct {
	stage   string // see [Error]
	refused error  // what a refusal means; nil if the server may refuse the command
	basic   bool   // every server has it

	// argument returns the argument of a command that is known only when it is sent; nil: it is that of the step.
	argument func(*session, step) (string, error)
	// needless reports whether a step that is about to be sent is no longer needed; nil: it always is.
	needless func(*session, step) bool
	// judged decides what a reply means. Without it, a reply that is not right is a refusal, and kept keeps what a right one
	// tells. right may be nil: then all but 1yz are right, because the server may refuse the command.
	judged func(*session, step, wire.Reply) error
	right  func(wire.Reply) bool
	kept   func(*session, step, wire.Reply)
}

// verbs is the one table of commands. init sets it, because its functions refer to it.
var verbs map[string]verb

func init() {
	insecure := func(s *session, _ step) bool { return !s.conn.Secure() }
	ready := func(s *session, _ step) bool { return s.port != 0 }
	unreachable := func(s *session, st step) bool {
		return s.goal.batch != nil && s.goal.batch[st.file].gone != nil && !st.back
	}
	verbs = map[string]verb{
		"connect": {stage: "connect", refused: ErrConnect},
		"AUTH":    {stage: "connect", refused: errNoTLS, judged: (*session).secured},
		"PBSZ":    {stage: "connect", refused: errNoTLS, needless: insecure},
		"PROT":    {stage: "connect", refused: errNoTLS, needless: insecure, right: wire.Reply.OK},

		"USER": {stage: "login", refused: ErrLogin, basic: true, argument: (*session).user, judged: (*session).entered},
		"PASS": {stage: "login", refused: ErrLogin, basic: true, argument: (*session).password, judged: (*session).entered,
			needless: func(s *session, _ step) bool { return s.admitted }},
		"ACCT": {stage: "login", refused: ErrLogin, argument: (*session).account, judged: (*session).entered},
		"FEAT": {kept: func(s *session, _ step, r wire.Reply) { s.features = &r }},
		"OPTS": {needless: func(s *session, _ step) bool { return !offered(s.features, "UTF8", "") }},
		"PWD":  {kept: (*session).located},

		"CWD": {stage: "directory", refused: errDirectory, basic: true, needless: unreachable, judged: (*session).moved},
		"TYPE": {stage: "transfer", refused: errType, basic: true, right: wire.Reply.OK,
			kept: func(s *session, st step, _ wire.Reply) { s.typ = st.Arg }},
		"SIZE": {needless: unreachable, kept: (*session).tell},
		"MDTM": {needless: unreachable, kept: (*session).tell},
		"MLST": {needless: unreachable, kept: (*session).tell},

		"EPSV": {stage: "transfer", refused: errPassive, needless: ready, judged: (*session).ported},
		"PASV": {stage: "transfer", refused: errPassive, needless: ready, judged: (*session).ported},
		"EPRT": {stage: "transfer", refused: errActive, argument: (*session).announce, judged: (*session).ported},
		"PORT": {stage: "transfer", refused: errActive, argument: (*session).announce, needless: ready, judged: (*session).ported},
		// RFC 3659 section 5.3: only 3yz means that RETR starts at the offset.
		"REST": {stage: "transfer", refused: ErrNoRestart, right: func(r wire.Reply) bool { return r.First() == 3 }},
		"RETR": {stage: "transfer", refused: errTransfer, judged: (*session).began},
		"NLST": {stage: "transfer", refused: errTransfer, judged: (*session).began},
		"LIST": {stage: "transfer", refused: errTransfer, judged: (*session).began},
		"MLSD": {stage: "transfer", refused: errTransfer, judged: (*session).began},
	}
}

// judge decides what a reply to a step means, by its first digit (RFC 1123 section 4.1.2.11), and keeps what it tells.
// An error ends the run.
func (s *session) judge(st step, r wire.Reply) error {
	v := verbs[st.Verb]
	// aioftp runs the commands that it gets together at the same time: "not implemented" for a command that every server
	// has seems to be the reply to one that was sent with it.
	if v.basic && len(s.out) > 0 && (r.Code == 500 || r.Code == 502) {
		s.conn.Abandon(wire.Disorder(r))
		return s.conn.Err()
	}
	switch {
	case v.judged != nil:
		return v.judged(s, st, r)
	case v.right != nil && !v.right(r), r.First() == 1:
		return s.refused(st.Command, r)
	case v.kept != nil:
		v.kept(s, st, r)
	}
	return nil
}

// needless reports whether a step that is about to be sent is no longer needed.
func (s *session) needless(st step) bool {
	v := verbs[st.Verb]
	return v.needless != nil && v.needless(s, st)
}
