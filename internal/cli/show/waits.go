package show

import (
	"strings"
	"sync"

	"example.com/ftpfetch/ftpexec"
)

// waits knows what the dialogue with a server waits for.
type waits struct {
	mu   sync.Mutex
	note string   // what the client did last, if it waits for no reply
	sent []string // the commands without a reply
}

// event takes an event of the dialogue.
func (w *waits) event(e ftpexec.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Mark == '>':
		w.sent = append(w.sent, e.Text)
	case e.Mark == '*':
		w.note = e.Text
		if strings.HasPrefix(e.Text, "connected to ") {
			w.note, w.sent = "waiting for the greeting", nil
		}
	case len(w.sent) > 0 && len(e.Text) > 3 && e.Text[0] >= '2' && e.Text[0] <= '5' && e.Text[3] == ' ':
		w.sent = w.sent[1:]
	}
}

// anew says that the dialogue is over and another will follow.
func (w *waits) anew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note, w.sent = "", nil
}

// text says what the dialogue waits for.
func (w *waits) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.sent) == 0 {
		if w.note == "" {
			return "connecting"
		}
		return OneLine(w.note)
	}
	switch verb, _, _ := strings.Cut(w.sent[0], " "); verb {
	case "USER", "PASS", "ACCT":
		return "logging in"
	}
	return "waiting for the reply to " + OneLine(w.sent[0])
}
