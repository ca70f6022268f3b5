package download

import (
	"context"
	"errors"
	"sync"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// logins sees to it that a wrong password is sent once, and not for each file and connection: servers lock out whoever
// does that. The zero value is ready to use.
type logins struct {
	mu    sync.Mutex
	known map[login]*admission
}

// login is all of a URL that decides whether a server lets the user in.
type login struct{ scheme, address, user string }

// admission is what is known of a login.
type admission struct {
	succeeded bool
	refused   error         // why the server does not let the user in
	trying    chan struct{} // closed when a job that tries has come to an outcome; nil if none tries
}

// of returns what is known of the login of a URL. The caller holds mu.
func (l *logins) of(u *urlparse.URL) *admission {
	key := login{scheme: u.Scheme, address: u.Address()}
	if u.User != nil {
		key.user = u.User.String()
	}
	if l.known == nil {
		l.known = make(map[login]*admission)
	}
	a := l.known[key]
	if a == nil {
		a = new(admission)
		l.known[key] = a
	}
	return a
}

// enter begins a job. It returns the refusal of the job's login, if there was one. With a login that may be refused, it
// first waits for the outcome of the one job that tries it. The caller calls leave at the end of the job.
func (l *logins) enter(ctx context.Context, u *urlparse.URL) (inner context.Context, leave func(), refused error) {
	for {
		l.mu.Lock()
		a := l.of(u)
		trying := a.trying
		if trying == nil && !a.succeeded && a.refused == nil && u.User != nil {
			a.trying = make(chan struct{})
			l.mu.Unlock()
			return ftpexec.WithTrace(ctx, l.watching(u)), func() { l.settle(u, nil) }, nil
		}
		refused = a.refused
		l.mu.Unlock()
		if trying == nil {
			return ctx, func() {}, refused
		}
		select {
		case <-trying:
		case <-ctx.Done():
			return ctx, func() {}, nil // what the job asks for fails
		}
	}
}

// watching tells from the events of a job when its login has succeeded.
func (l *logins) watching(u *urlparse.URL) *ftpexec.Trace {
	succeeded := func(a *admission) { a.succeeded = true }
	return &ftpexec.Trace{
		GotConn: func(i ftpexec.ConnInfo) {
			if i.Reused {
				l.settle(u, succeeded)
			}
		},
		Reply: func(i ftpexec.ReplyInfo) {
			if i.Code == 230 || i.Code == 232 || i.Code/100 == 1 { // RFC 959 and 2228; a transfer begins
				l.settle(u, succeeded)
			}
		},
	}
}

// settle changes what is known of the login of a URL, if change is not nil, and lets the jobs go on that wait for it.
func (l *logins) settle(u *urlparse.URL, change func(*admission)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(u)
	if change != nil {
		change(a)
	}
	if a.trying != nil {
		close(a.trying)
		a.trying = nil
	}
}

// heed looks at the failure of a URL. Once a login has succeeded, or something has come from any server, a refusal counts
// for one URL only: the server may have enough connections of that user, and say so in words of its own.
func (l *logins) heed(u *urlparse.URL, err error, received bool) {
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	if givenUp || received || !errors.Is(err, ftpexec.ErrLogin) || errors.Is(err, ftpexec.ErrTooMany) {
		return
	}
	l.settle(u, func(a *admission) {
		if !a.succeeded {
			a.refused = err
		}
	})
}
