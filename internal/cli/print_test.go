package cli

import (
	"testing"

	"example.com/ftpfetch/ftpexec"
)

// A line of the dialogue names its connection, and joins only commands of one flight on one connection.
func TestDialogue(t *testing.T) {
	s := newStand(progressPlain)
	command := func(server string, conn, flight int, text string) ftpexec.Event {
		return ftpexec.Event{Kind: ftpexec.EventCommand, Text: text, Flight: flight, Server: server, Conn: conn}
	}
	for _, e := range []ftpexec.Event{
		command("a:21", 1, 1, "USER u"), command("a:21", 1, 1, "CWD d"), command("a:21", 1, 2, "RETR f"),
		command("a:21", 2, 2, "RETR g"), command("a:21", 2, 2, "QUIT"),
		{Kind: ftpexec.EventReply, Text: "150 yes", Flight: 2, Server: "a:21", Conn: 2},
		{Text: "note", Server: "a:21", Conn: 2},
		command("a:21", 1, 3, "QUIT"),
		command("a:21", 0, 1, "GET a"), command("b:21", 0, 1, "GET b"), command("b:21", 0, 1, "Range: x"),
	} {
		s.event(e)
	}
	s.compare(t, `> USER u
>> CWD d
> RETR f
> [2] RETR g
>> [2] QUIT
< [2] 150 yes
* [2] note
> QUIT
> GET a
> GET b
>> Range: x
`)
}
