package show

import (
	"cmp"
	"strings"

	"example.com/ftpfetch/ftpexec"
)

// dialogue knows what the run waits for: the reply to the oldest unanswered command, on the connection that was the
// last to send or receive something.
type dialogue struct {
	sent map[int][]string // commands without a reply, by connection
	what string           // "" before the first connection
}

// String returns, for example, "waiting for the reply to USER me".
func (d *dialogue) String() string { return cmp.Or(d.what, "connecting") }

// add adds an event of the dialogue.
func (d *dialogue) add(e ftpexec.Event) {
	if d.sent == nil {
		d.sent = make(map[int][]string)
	}
	text := OneLine(e.Text)
	sent := d.sent[e.Conn]
	switch {
	case e.Mark == ftpexec.MarkNoted && strings.HasPrefix(text, "connected "):
		d.what = "connected, waiting for the server's greeting"
		return
	case e.Mark == ftpexec.MarkNoted:
		d.what = text
		return
	case e.Mark != ftpexec.MarkReceived:
		sent = append(sent, text)
	case e.Conn == 0: // a proxy that fetches the file itself answers once
		sent = nil
	case len(text) > 3 && text[3] == ' ' && text[0] > '1' && len(sent) > 0:
		sent = sent[1:] // a reply that is not preliminary has ended
	}
	d.sent[e.Conn] = sent
	switch {
	case e.Mark == ftpexec.MarkReceived && strings.HasPrefix(text, "1"):
		d.what = "waiting for the first data"
	case len(sent) > 0:
		d.what = "waiting for the reply to " + sent[0]
	default:
		d.what = "waiting for the server"
	}
}
