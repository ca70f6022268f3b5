package testserver

import (
	"slices"
	"strconv"
)

// Honest is a dialogue without faults. It accepts every login and every
// directory, every file holds contents, and NLST lists "a" and "b". SIZE and
// MDTM (2020-01-02 03:04:05 UTC), EPSV, PASV and AUTH TLS work; REST, active
// mode and ASCII conversion do not. Override what should go wrong:
//
//	testserver.Honest("contents").With("RETR", testserver.Reply("550 No"))
func Honest(contents string) Step {
	steps := slices.Concat(honestReplies(), []Step{
		On("", Reply("220 Scripted server ready.")),
		On("SIZE", Reply("213 "+strconv.Itoa(len(contents)))),
		On("RETR", Transfer(contents)...),
		On("NLST", Transfer("a\r\nb\r\n")...),
		On("EPSV", Reply("229 Entering Extended Passive Mode (|||{port}|)")),
		On("PASV", Reply("227 Entering Passive Mode (127,0,0,1,{hi},{lo})")),
		On("AUTH", Reply("234 Proceed.")),
		On("PROT", Reply("200 Done.")),
		On("QUIT", Reply("221 Goodbye."), CloseConn()),
	})
	return func(d *Dialogue) {
		for _, step := range steps {
			step(d)
		}
	}
}

// honestReplies returns the steps for commands that get a single reply.
func honestReplies() []Step {
	return []Step{
		On("USER", Reply("331 Password, please.")),
		On("PASS", Reply("230 Logged in.")),
		On("ACCT", Reply("230 Logged in.")),
		On("CWD", Reply("250 Done.")),
		On("CDUP", Reply("250 Done.")),
		On("PWD", Reply(`257 "/" is the directory.`)),
		On("TYPE", Reply("200 Done.")),
		On("MODE", Reply("200 Done.")),
		On("STRU", Reply("200 Done.")),
		On("NOOP", Reply("200 Done.")),
		On("OPTS", Reply("200 Done.")),
		On("PBSZ", Reply("200 PBSZ=0")),
		On("SYST", Reply("215 UNIX Type: L8")),
		On("MDTM", Reply("213 20200102030405")),
		On("ABOR", Reply("226 Nothing to abort.")),
		On("FEAT", Reply("211-Features:\r\n AUTH TLS\r\n EPSV\r\n MDTM\r\n SIZE\r\n UTF8\r\n211 End")),
	}
}

// Transfer returns what an honest server does for RETR or NLST: 150, contents,
// 226.
func Transfer(contents string) []Action {
	return []Action{
		Reply("150 Here it comes."),
		SendData(contents),
		CloseData(),
		Reply("226 Transfer complete."),
	}
}
