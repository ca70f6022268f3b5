package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// shown are the fields of a request that the trace shows.
var shown = []string{"Range", "Authorization", "Proxy-Authorization"}

// traceRequest traces a request, with its logins masked.
func (g *gate) traceRequest(u *urlparse.URL, r *http.Request) {
	g.mu.Lock()
	g.sent++
	flight := g.sent
	g.mu.Unlock()
	g.trace(u, ftpexec.EventCommand, flight, r.Method+" "+r.URL.Opaque)
	for _, name := range shown {
		value := r.Header.Get(name)
		if value != "" && name != "Range" {
			value = "********"
		}
		if value != "" {
			g.trace(u, ftpexec.EventCommand, flight, name+": "+value)
		}
	}
}

// traceAnswer traces what counts of an answer. It shows no text of the proxy.
func (g *gate) traceAnswer(u *urlparse.URL, a *answer) {
	g.trace(u, ftpexec.EventReply, 0, strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.StatusCode, http.StatusText(a.StatusCode))))
	if a.ContentLength >= 0 {
		g.trace(u, ftpexec.EventReply, 0, fmt.Sprintf("Content-Length: %d", a.ContentLength))
	}
	if p, ok := parsePart(a.Header.Get("Content-Range")); ok {
		g.trace(u, ftpexec.EventReply, 0, "Content-Range: "+p.String())
	}
	if !a.modTime.IsZero() {
		g.trace(u, ftpexec.EventReply, 0, "Last-Modified: "+a.modTime.Format(http.TimeFormat))
	}
}

func (g *gate) trace(u *urlparse.URL, kind ftpexec.EventKind, flight int, text string) {
	if g.Client.Trace != nil {
		g.Client.Trace(ftpexec.Event{Kind: kind, Flight: flight, Text: text, Server: u.Address()})
	}
}
