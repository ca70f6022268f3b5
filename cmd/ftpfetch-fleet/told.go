package main

import (
	"cmp"
	"os"
	"os/user"

	"github.com/nats-io/nats.go"
)

// tell tells the server what a command has done, and who ran it where. With an existing NATS, nobody logs that.
func (f *fleet) tell(c *command) {
	if c.about == "" { // such as add --dry-run
		return
	}
	who := "somebody"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	where, _ := os.Hostname()
	if ip, err := f.GetClientIP(); err == nil {
		where += " (" + ip.String() + ")"
	}
	text := c.verb + " " + c.about + ", by " + who + " at " + where + ", with the role " + cmp.Or(f.user, "of NATS")
	_ = f.Publish(f.subject("log"), []byte(text))
	_ = f.FlushTimeout(asking)
}

// logs writes what the commands tell to the log of the server.
func (h *hub) logs(line func(string, ...any)) error {
	_, err := h.board.f.Subscribe(h.space.subject("log"), func(m *nats.Msg) { line("%s", m.Data) })
	return err
}
