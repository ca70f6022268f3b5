package show

import (
	"cmp"
	"crypto/tls"
	"fmt"

	"example.com/ftpfetch/ftpexec"
)

// Trace returns what shows the dialogue: to the user, as curl -v does, or only in the rows at the bottom of the
// terminal, or the lines in place of them. It returns nil if neither is needed. Lines of all connections but the first are marked "[2]" and so on.
func (p *Printer) Trace() *ftpexec.Trace {
	mode := p.mode(false)
	needed := mode == Bar || mode == Plain && p.Watched()
	if !needed && !p.Verbose {
		return nil
	}
	noted := func(conn int, text string) {
		p.waits.what = OneLine(text)
		p.verbose("*", conn, text)
	}
	return &ftpexec.Trace{
		Wait: func(ftpexec.WaitInfo) {
			defer p.lock()()
			noted(0, "all connections that the server may have are in use: waiting for one")
		},
		GotConn: func(e ftpexec.ConnInfo) {
			defer p.lock()()
			if e.Reused {
				return
			}
			p.verbose("*", e.Conn, connected(e))
			p.waits.what = "connected, waiting for the server's greeting"
		},
		Secured: func(e ftpexec.SecuredInfo) {
			defer p.lock()()
			noted(e.Conn, tls.VersionName(e.TLS.Version)+" established")
		},
		Command: func(e ftpexec.CommandInfo) {
			defer p.lock()()
			p.waits.command(e)
			mark := ">"
			if e.Joined {
				mark = ">>"
			}
			p.verbose(mark, e.Conn, e.Text)
		},
		Reply: func(e ftpexec.ReplyInfo) {
			defer p.lock()()
			p.waits.reply(e)
			for _, line := range e.Lines {
				p.verbose("<", e.Conn, line)
			}
		},
		Note: func(e ftpexec.NoteInfo) {
			defer p.lock()()
			noted(e.Conn, e.Text)
		},
	}
}

// connected returns what is shown for a new connection.
func connected(e ftpexec.ConnInfo) string {
	if e.Proxied {
		return "connected to " + e.Address + " through the proxy at " + e.Remote
	}
	return "connected to " + e.Remote
}

// verbose prints a line of the dialogue for a user who asked for it.
func (p *Printer) verbose(mark string, conn int, text string) {
	if !p.Verbose {
		return
	}
	number := ""
	if conn > 1 {
		number = fmt.Sprintf("[%d] ", conn)
	}
	p.line("%s %s%s", mark, number, OneLine(text))
}

// dialogue knows what the run waits for: the reply to the oldest unanswered command, on the connection that was the
// last to send or receive something.
type dialogue struct {
	sent map[int][]string // commands without a reply, by connection
	what string           // "" before the first connection
}

// String returns, for example, "waiting for the reply to USER me".
func (d *dialogue) String() string { return cmp.Or(d.what, "connecting") }

// command adds a command.
func (d *dialogue) command(e ftpexec.CommandInfo) {
	if d.sent == nil {
		d.sent = make(map[int][]string)
	}
	d.sent[e.Conn] = append(d.sent[e.Conn], OneLine(e.Text))
	d.wait(e.Conn)
}

// reply adds a reply. One that is not preliminary answers a command.
func (d *dialogue) reply(e ftpexec.ReplyInfo) {
	preliminary := e.Code/100 == 1
	switch sent := d.sent[e.Conn]; {
	case e.Conn == 0: // a proxy that fetches the file itself answers once
		delete(d.sent, 0)
	case !preliminary && len(sent) > 0:
		d.sent[e.Conn] = sent[1:]
	}
	d.wait(e.Conn)
	if preliminary {
		d.what = "waiting for the first data"
	}
}

// wait makes d say what the run waits for on a connection.
func (d *dialogue) wait(conn int) {
	d.what = "waiting for the server"
	if sent := d.sent[conn]; len(sent) > 0 {
		d.what = "waiting for the reply to " + sent[0]
	}
}
