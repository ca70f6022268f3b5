package testserver

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Step is a part of a scripted dialogue: one rule or several. Write your own, for example one that keeps variables for
// each connection, by calling others:
//
//	func(d *testserver.Dialogue) {
//		tries := 0
//		testserver.On("RETR", func(*testserver.Conn) error { tries++; return nil })(d)
//	}
type Step func(*Dialogue)

// Dialogue is what the server plays on one connection. A [Step] adds to it.
type Dialogue struct {
	conn     int
	greeting []Action
	rules    []*rule
}

// rule says what to do about a command.
type rule struct {
	match   func(line string) bool
	nth     int // only the nth command that matches; 0: all
	seen    int
	actions []Action
}

func newDialogue(conn int, steps []Step) *Dialogue {
	d := &Dialogue{conn: conn}
	d.add(steps)
	return d
}

// add adds steps; nil adds nothing.
func (d *Dialogue) add(steps []Step) {
	for _, step := range steps {
		if step != nil {
			step(d)
		}
	}
}

// On sets what happens on a command. match is
//
//	"RETR"        a verb, in any case
//	"CWD pub"     with a space in it: a prefix of the line, byte for byte
//	"^CWD pub$"   with a leading ^: a regular expression for the line
//	"*"           every command
//	""            the greeting
//	"#2 RETR"     only the second command of a connection that "RETR" matches
//
// On panics if the number or the regular expression is invalid. Without actions the command gets no reply, and the
// dialogue continues.
func On(match string, actions ...Action) Step {
	if match == "" {
		return func(d *Dialogue) { d.greeting = actions }
	}
	nth := 0
	if text, ok := strings.CutPrefix(match, "#"); ok {
		if _, err := fmt.Sscanf(text, "%d", &nth); err != nil || nth < 1 {
			panic(fmt.Sprintf("testserver: %q has no number from 1 on", match))
		}
		_, match, _ = strings.Cut(match, " ")
	}
	matches := matcher(match)
	return func(d *Dialogue) {
		d.rules = append(d.rules, &rule{match: matches, nth: nth, actions: actions})
	}
}

// OnConn limits steps to the nth connection, counted from 1.
func OnConn(n int, steps ...Step) Step {
	return func(d *Dialogue) {
		if d.conn == n {
			d.add(steps)
		}
	}
}

// With returns s followed by On(match, actions...), which overrides what s does on these commands.
func (s Step) With(match string, actions ...Action) Step {
	return func(d *Dialogue) { d.add([]Step{s, On(match, actions...)}) }
}

func matcher(match string) func(string) bool {
	switch {
	case match == "*":
		return func(string) bool { return true }
	case strings.HasPrefix(match, "^"):
		return regexp.MustCompile(match).MatchString
	case strings.Contains(match, " "):
		return func(line string) bool { return strings.HasPrefix(line, match) }
	}
	want := strings.ToUpper(match)
	return func(line string) bool {
		verb, _ := splitCommand(line)
		return verb == want
	}
}

// actionsFor returns the actions of the last rule that matches line.
func (d *Dialogue) actionsFor(line string) []Action {
	var last *rule
	for _, r := range d.rules {
		if !r.match(line) {
			continue
		}
		r.seen++
		if r.nth == 0 || r.nth == r.seen {
			last = r
		}
	}
	if last == nil {
		return []Action{Reply("502 Not in the script.")}
	}
	return last.actions
}

// Honest is a dialogue without faults. It accepts every login and every directory, every file holds contents, and NLST
// lists "a" and "b". SIZE and MDTM (2020-01-02 03:04:05 UTC), EPSV, PASV and AUTH TLS work; REST, active mode and ASCII
// conversion do not. Override what should go wrong:
//
//	testserver.Honest("contents").With("RETR", testserver.Reply("550 No"))
func Honest(contents string) Step {
	steps := []Step{
		On("", Reply("220 Scripted server ready.")),
		On("USER", Reply("331 Password, please.")),
		On(`^(?i)(PASS|ACCT)\b`, Reply("230 Logged in.")),
		On(`^(?i)(CWD|CDUP)\b`, Reply("250 Done.")),
		On(`^(?i)(TYPE|MODE|STRU|NOOP|OPTS|PROT)\b`, Reply("200 Done.")),
		On("PWD", Reply(`257 "/" is the directory.`)),
		On("SYST", Reply("215 UNIX Type: L8")),
		On("FEAT", Reply("211-Features:\r\n AUTH TLS\r\n EPSV\r\n MDTM\r\n SIZE\r\n UTF8\r\n211 End")),
		On("AUTH", Reply("234 Proceed.")),
		On("PBSZ", Reply("200 PBSZ=0")),
		On("MDTM", Reply("213 20200102030405")),
		On("SIZE", Reply("213 "+strconv.Itoa(len(contents)))),
		On("EPSV", Reply("229 Entering Extended Passive Mode (|||{port}|)")),
		On("PASV", Reply("227 Entering Passive Mode (127,0,0,1,{hi},{lo})")),
		On("RETR", Transfer(contents)),
		On("NLST", Transfer("a\r\nb\r\n")),
		On("ABOR", Reply("226 Nothing to abort.")),
		On("QUIT", Reply("221 Goodbye."), EndControl(Closed)),
	}
	return func(d *Dialogue) { d.add(steps) }
}
