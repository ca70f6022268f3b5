package ftpexec_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// failingAt returns a server that plays actions at a command, or as the greeting if verb is "".
func failingAt(verb string, actions ...testserver.Action) []testserver.Step {
	honest := testserver.Honest("contents").With("REST", testserver.Reply("350 Go")).With("MLSD", testserver.Transfer("type=file;size=1; a\r\n")...)
	if verb == "" {
		return []testserver.Step{honest, testserver.On("", actions...)}
	}
	return []testserver.Step{honest.With(verb, actions...)}
}

// swept are the requests of a sweep, with the commands of each.
var swept = []struct {
	method, path, fields string
	verbs                []string
}{
	{"GET", "/d/f", "", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "RETR"}},
	{"GET", "/d/f", "Range: bytes=2-3", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM", "EPSV", "REST", "RETR"}},
	{"HEAD", "/d/f", "", []string{"", "USER", "PASS", "CWD", "TYPE", "SIZE", "MDTM"}},
	{"GET", "/d/", "", []string{"", "USER", "PASS", "CWD", "TYPE", "EPSV", "NLST"}},
	{"GET", "/d/", "Accept: application/json", []string{"", "USER", "PASS", "CWD", "TYPE", "EPSV", "MLSD"}},
	{"HEAD", "/d/", "", []string{"", "USER", "PASS", "CWD", "TYPE", "EPSV", "NLST"}},
}

// try sends a request to a server. It returns the status, or the error of the answer or its body. No answer shows the
// password.
func try(t *testing.T, ctx context.Context, network *ftptest.Network, steps []testserver.Step, method, path, field string) (int, error) {
	t.Helper()
	s := network.NewScript(t, steps...)
	defer s.Close()
	ftp := &ftpexec.Transport{Client: &ftpexec.Client{Dial: network.Dial}}
	defer ftp.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, s.URLAs("user:hunter2", path), nil)
	if err != nil {
		t.Fatal(err)
	}
	if name, value, ok := strings.Cut(field, ": "); ok {
		req.Header.Set(name, value)
	}
	shown := ""
	r, err := (&http.Client{Transport: ftp}).Do(req)
	status := 0
	if err == nil {
		var body []byte
		body, err = io.ReadAll(r.Body)
		r.Body.Close()
		for name, values := range r.Header {
			shown += name + strings.Join(values, "")
		}
		shown += string(body)
		status = r.StatusCode
	}
	if err != nil {
		shown += err.Error()
		if !errors.As(err, new(*ftpexec.Error)) {
			t.Errorf("got %v (%T), want an *Error", err, err)
		}
	}
	if strings.Contains(shown, "hunter2") {
		t.Errorf("%s shows the password", shown)
	}
	return status, err
}

// A connection that ends or hangs at any command is an error; the context ends a hang.
func TestTransportLost(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		for _, stage := range swept {
			for _, verb := range stage.verbs {
				at := stage.method + " " + stage.path + " " + stage.fields + ", " + verb
				for _, end := range []testserver.Action{testserver.CloseConn(), testserver.ResetConn()} {
					if status, err := try(t, t.Context(), network, failingAt(verb, end), stage.method, stage.path, stage.fields); status != 0 || !errors.Is(err, ftpexec.ErrLost) && !errors.Is(err, ftpexec.ErrConnect) {
						t.Errorf("%s: lost: got %d, %v", at, status, err)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				start := time.Now()
				if status, err := try(t, ctx, network, failingAt(verb, testserver.Silence()), stage.method, stage.path, stage.fields); status != 0 || !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
					t.Errorf("%s: hangs: got %d, %v after %v", at, status, err, time.Since(start))
				}
				if status, err := try(t, t.Context(), network, failingAt(verb, testserver.Silence()), stage.method, stage.path, stage.fields); status != 0 || !errors.Is(err, ftpexec.ErrTimeout) {
					t.Errorf("%s: hangs: got %d, %v", at, status, err)
				}
			}
		}
	})
}

// A refusal at any command is an answer.
func TestTransportRefused(t *testing.T) {
	replies := []string{"421 Leaving", "450 Busy", "530 Not you", "550 No", "550 Permission denied"}
	login := []int{503, 401, 401, 401, 401}
	other := []int{503, 503, 401, 502, 403}
	fallback := []int{503, 200, 200, 200, 200}
	want := map[string][]int{
		"": {503, 503, 401, 502, 502}, "USER": login, "PASS": login, "CWD": {503, 503, 401, 404, 403}, "TYPE": other,
		"SIZE": fallback, "MDTM": fallback, "EPSV": fallback,
		"RETR": {503, 503, 401, 403, 403}, "NLST": {503, 404, 401, 404, 403}, "MLSD": {503, 503, 401, 403, 403}, "REST": fallback,
	}
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		for _, stage := range swept {
			for _, verb := range stage.verbs {
				for i, reply := range replies {
					status, err := try(t, t.Context(), network, failingAt(verb, testserver.Reply(reply)), stage.method, stage.path, stage.fields)
					if status == http.StatusPartialContent {
						status = http.StatusOK
					}
					if status != want[verb][i] || err != nil {
						t.Errorf("%s %s %s, %s: %s: got %d, %v, want %d", stage.method, stage.path, stage.fields, verb, reply, status, err, want[verb][i])
					}
				}
			}
		}
	})
}

// Client.Timeout and the context end a transfer that stalls, with the errors that net/http's users know.
func TestTransportTimeout(t *testing.T) {
	stalls := testserver.Honest("contents").With("RETR", testserver.Reply("150 Go"), testserver.SendData("con"), testserver.StallData())
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		for _, timeout := range []bool{true, false} {
			s := network.NewScript(t, stalls)
			ftp := &ftpexec.Transport{Client: &ftpexec.Client{Dial: network.Dial}}
			ctx, cancel := context.WithCancelCause(t.Context())
			c := &http.Client{Transport: ftp}
			if timeout {
				c.Timeout = 5 * time.Second
			} else {
				time.AfterFunc(5*time.Second, func() { cancel(errStop) })
			}
			req, err := http.NewRequestWithContext(ctx, "GET", s.URL("/d/f"), nil)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			r, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r.Body)
			r.Body.Close()
			var late interface{ Timeout() bool }
			isLate := errors.As(err, &late) && late.Timeout()
			if string(got) != "con" || isLate != timeout || !timeout && !errors.Is(err, errStop) || time.Since(start) != 5*time.Second {
				t.Errorf("timeout %t: got %q, %v after %v", timeout, got, err, time.Since(start))
			}
			cancel(nil)
			s.Close()
		}
		s := network.NewScript(t, testserver.On("", testserver.Silence()))
		defer s.Close()
		c := &http.Client{Transport: &ftpexec.Transport{Client: &ftpexec.Client{Dial: network.Dial}}, Timeout: time.Second}
		_, err := c.Get(s.URL("/f"))
		var u *url.Error
		if !errors.As(err, &u) || !u.Timeout() || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a timeout", err)
		}
		synctest.Wait()
	})
}
