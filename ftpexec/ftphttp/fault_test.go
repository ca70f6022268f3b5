package ftphttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// exchanges are requests with the commands of each.
var exchanges = []struct {
	method, path, field string
	verbs               []string
}{
	{"GET", "/d/f", "", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "RETR"}},
	{"GET", "/d/f", "bytes=2-3", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "REST", "RETR"}},
	{"HEAD", "/d/f", "", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM"}},
	{"GET", "/d/", "", []string{"", "USER", "PASS", "CWD", "TYPE", "EPSV", "NLST"}},
}

// A refusal at any command is an answer. A connection that ends or hangs there is an error; the context ends a hang.
func TestEveryCommand(t *testing.T) {
	replies := []string{"421 Leaving", "450 Busy", "530 Not you", "550 No", "550 Permission denied"}
	login, other, fallback := []int{503, 401, 401, 401, 401}, []int{503, 503, 401, 403, 403}, []int{503, 200, 200, 200, 200}
	want := map[string][]int{
		"": {503, 503, 401, 502, 502}, "USER": login, "PASS": login, "CWD": {503, 503, 401, 404, 403}, "TYPE": other,
		"SIZE": fallback, "MDTM": fallback, "EPSV": fallback, "REST": fallback, "RETR": other, "NLST": {503, 404, 401, 404, 403},
	}
	synctest.Test(t, func(t *testing.T) {
		for _, x := range exchanges {
			for _, verb := range x.verbs {
				check := func(what string, action testserver.Action, status int, cause error) {
					steps := []testserver.Step{testserver.Honest("contents").With("REST", testserver.Reply("350 Go")), testserver.On(verb, action)}
					if verb != "" {
						steps = []testserver.Step{steps[0].With(verb, action)}
					}
					network := ftptest.NewNetwork()
					s := network.NewScript(t, steps...)
					defer s.Close()
					c := &ftpexec.Client{Dial: network.Dial}
					defer c.CloseIdleConnections()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if cause == context.Canceled {
						time.AfterFunc(time.Second, cancel)
					}
					got := request(ctx, registered(t, c), x.method, s.URL("user:hunter2@"+x.path), "Range: "+x.field)
					if got.StatusCode == http.StatusPartialContent {
						got.StatusCode = http.StatusOK
					}
					if err := got.err; got.StatusCode != status || !errors.Is(err, cause) && !(cause == ftpexec.ErrLost && errors.Is(err, ftpexec.ErrConnect)) ||
						err != nil && !errors.As(err, new(*ftpexec.Error)) || strings.Contains(fmt.Sprint(got.Header, got.contents, err), "hunter2") {
						t.Errorf("%s %s %s, %s at %s: got %s, %v (%[6]T), want %d, %v", x.method, x.path, x.field, what, verb, got.Status, err, status, cause)
					}
				}
				for i, reply := range replies {
					check(reply, testserver.Reply(reply), want[verb][i], nil)
				}
				check("closed", testserver.End(testserver.Closed), 0, ftpexec.ErrLost)
				check("reset", testserver.End(testserver.Reset), 0, ftpexec.ErrLost)
				check("silent", testserver.End(testserver.Stalled), 0, ftpexec.ErrTimeout)
				check("cancelled", testserver.End(testserver.Stalled), 0, context.Canceled)
			}
		}
	})
}
