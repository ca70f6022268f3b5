package ftpexec

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/lazy"
)

// A reply belongs to the oldest command that has none (RFC 959 section 5.4). Some servers and relays lose a reply, send
// one too many, or answer out of turn, and then every later reply answers another command than the one that it seems to
// answer. The reply to one of them shows it: it cannot belong to its command. The connection then ends, and the plan
// runs again on a new one, one command at a time, as on every later connection to that server.

// transfers are the commands that start a transfer.
var transfers = []string{"RETR", "NLST", "LIST", "MLSD"}

// owners has the codes that only certain commands get, with those commands (RFC 959 section 5.4, RFC 2228, RFC 2428,
// RFC 3659). Every other code may answer any command: RFC 1123 section 4.1.2.11 leaves all but the first digit open.
var owners = map[int][]string{
	110: transfers,
	125: transfers,
	150: transfers,
	211: {"FEAT", "OPTS"},
	213: {"SIZE", "MDTM", "MLST"},
	220: nil, // the greeting
	221: nil, // QUIT, whose reply nothing reads
	225: nil, // ABOR
	226: transfers,
	227: {"PASV"},
	228: nil, // LPSV
	229: {"EPSV"},
	230: {"USER", "PASS", "ACCT"},
	232: {"USER", "PASS", "ACCT"},
	234: {"AUTH"},
	257: {"PWD"},
	331: {"USER"},
	332: {"USER", "PASS"},
	334: {"AUTH"},
	350: {"REST"},
	425: append([]string{"EPSV", "PASV", "EPRT", "PORT"}, transfers...),
	426: transfers,
}

// belongs reports whether a reply with this code can be the one to a command.
func belongs(verb string, code int) bool {
	only, ok := owners[code]
	return !ok || slices.Contains(only, verb)
}

// disordered reports whether a reply cannot be the one to st. If commands were sent ahead, less is proof enough: one
// command at a time then shows what the reply means.
func (s *state) disordered(st step, reply wire.Reply) bool {
	switch {
	case !belongs(st.Verb, reply.Code):
		return true
	case s.sequential:
		return false
	case len(s.next) > 0 && s.betweenOthers(st, reply):
		return true
	case reply.First() > 3:
		return s.loginLost(st, reply) || s.namesAnother(st, reply)
	}
	return st.Verb == "MDTM" && reply.Code == 213 && noTime(reply)
}

// betweenOthers reports whether a reply to a command that was not the last of its flight shows that the server has not
// read the flight as one command after another. aioftp handles commands that arrive together concurrently, so "not
// implemented" for a command that every server has is probably the reply to another one.
func (s *state) betweenOthers(st step, reply wire.Reply) bool {
	if verbs[st.Verb].basic && (reply.Code == 500 || reply.Code == 502) {
		return true
	}
	return s.next[0].Verb != st.Verb && swallowed(s.next[0], reply)
}

// loginLost reports whether a refusal says that the user has not logged in, right after a login that was sent ahead.
func (s *state) loginLost(st step, reply wire.Reply) bool {
	lost := false
	switch stage := verbs[st.Verb].stage; {
	case st.Verb == "PASS":
		lost = reply.Code == 503 && st.waits == "" && !s.admitted
	case stage != StageConnect && stage != StageLogin:
		lost = reply.Code == 530 && s.loggingIn
	}
	if !lost {
		return false
	}
	a := s.answer(st, reply)
	return !a.means(full) && !a.means(needsTLS)
}

// swallowed reports whether a reply quotes the command that was sent behind the one that it answers. The server took
// both for one line.
func swallowed(next step, reply wire.Reply) bool {
	line := next.line()
	if next.Verb == "PASS" { // it was sent with USER only if it is the anonymous one
		line += email
	}
	_, after, quotes := strings.Cut(reply.Raw, line)
	return strings.Contains(line, " ") && quotes && strings.Trim(after[:min(1, len(after))], " \r\n") == ""
}

// noTime reports whether a 213 has a number that is too short for a time, such as a size.
func noTime(reply wire.Reply) bool {
	text := strings.TrimSpace(reply.LastLine())
	_, err := strconv.ParseUint(text, 10, 63)
	return err == nil && len(text) < len("YYYYMMDDHHMM")
}

// quoted matches a name in quotes.
var quoted = lazy.Regexp(`"([^"]*)"|'([^']*)'`)

// namesAnother reports whether a refusal names a file that another command has named, and not the file of st: the name
// stands before a colon or in quotes.
func (s *state) namesAnother(st step, reply wire.Reply) bool {
	text := reply.LastLine()
	if st.Arg != "" && strings.Contains(text, st.Arg) {
		return false
	}
	before, _, _ := strings.Cut(text, ": ")
	names := []string{before}
	for _, m := range quoted().FindAllStringSubmatch(text, -1) {
		names = append(names, m[1]+m[2])
	}
	return slices.ContainsFunc(names, func(name string) bool {
		name = path.Base(name)
		same := func(arg string) bool { return arg != "" && path.Base(arg) == name }
		return slices.ContainsFunc(s.recent[:], same) ||
			slices.ContainsFunc(s.next, func(other step) bool { return verbs[other.Verb].names && same(other.Arg) })
	})
}

// recall remembers the name of the file that a step names.
func (s *standing) recall(st step) {
	if verbs[st.Verb].names && st.Arg != s.recent[0] {
		copy(s.recent[1:], s.recent[:])
		s.recent[0] = st.Arg
	}
}
