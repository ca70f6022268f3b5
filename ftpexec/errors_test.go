package ftpexec_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// An Error tells its Stage.
func TestErrorStage(t *testing.T) {
	no := testserver.Reply("530 no")
	tests := []struct {
		path string
		step testserver.Step
		want ftpexec.Stage
	}{
		{"/a/f", testserver.Greet(no, testserver.CloseConn()), ftpexec.StageConnect},
		{"/a/f", testserver.Greet(testserver.CloseConn()), ftpexec.StageConnect},
		{"/a/f", testserver.On("USER", no), ftpexec.StageLogin},
		{"/a/f", testserver.On("PASS", no), ftpexec.StageLogin},
		{"/a/f", testserver.On("CWD", no), ftpexec.StageDirectory},
		{"/a/f", testserver.On("TYPE", no), ftpexec.StageTransfer},
		{"/a/f", testserver.On("EPSV", no).With("PASV", no), ftpexec.StageTransfer},
		{"/a/f", testserver.On("RETR", no), ftpexec.StageTransfer},
		{"/a/f", testserver.On("RETR", testserver.Reply("150 x"), testserver.CloseData(), no), ftpexec.StageTransfer},
		{"/a/", testserver.On("NLST", no), ftpexec.StageTransfer},
		{"/a/f", testserver.On("SIZE", testserver.Reply("150 x")), ftpexec.StageOther},
	}
	for _, tt := range tests {
		s := testserver.NewScript(t, testserver.Honest("contents"), tt.step)
		_, err := do(t.Context(), &ftpexec.Client{NoPipelining: true}, parse(t, s.URL(tt.path)))
		var e *ftpexec.Error
		if !errors.As(err, &e) || e.Stage != tt.want {
			t.Errorf("%v: stage %d, want %d", err, e.Stage, tt.want)
		}
	}
	refused := &ftpexec.Client{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no") }}
	var e *ftpexec.Error
	if _, err := refused.Get(t.Context(), "ftp://h/f"); !errors.As(err, &e) || e.Stage != ftpexec.StageConnect {
		t.Errorf("no connection: %v", err)
	}
}

func TestErrorIsANetError(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest(""), testserver.On("CWD", testserver.Silence()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		c    *ftpexec.Client
		path string
		want bool
	}{
		"reply":    {t.Context(), &ftpexec.Client{ReplyTimeout: time.Second}, "/a/f", true},
		"deadline": {ctx, &ftpexec.Client{}, "/a/f", true},
		"refusal":  {t.Context(), &ftpexec.Client{}, "/", false},
	} {
		_, err := tt.c.Open(tt.ctx, parse(t, s.URL(tt.path)))
		var e net.Error
		if !errors.As(err, &e) || e.Timeout() != tt.want {
			t.Errorf("%s: %v, want a net.Error with Timeout() %v", name, err, tt.want)
		}
	}
}
