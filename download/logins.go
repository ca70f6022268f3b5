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
// does that. The first job of a user on a server goes alone until its login has succeeded. If the login is refused, no
// other job tries it; after any other outcome the jobs go on side by side. The zero value is ready to use.
type logins struct {
	mu    sync.Mutex
	known map[login]*admission
}

// login is all of a URL that decides whether a server lets the user in.
type login struct{ scheme, address, user string }

// admission is what is known of a login. The mutex of logins guards it.
type admission struct {
	succeeded bool
	refused   error         // why the server does not let the user in
	open      bool          // jobs need not wait
	trying    chan struct{} // closed when the first job has come to an outcome; nil if there is none
}

// visit is what a job has to do with its login.
type visit struct {
	all     *logins
	to      *admission
	entered bool // the job has needed the server
	first   bool // the job tries the login, and others wait for it
}

// visitKey is the key of a context's visit.
type visitKey struct{}

// visiting returns a context for a job, whose events show when the login has succeeded. The caller calls leave at the end
// of the job.
func (l *logins) visiting(ctx context.Context, u *urlparse.URL) (inner context.Context, v *visit) {
	key := login{scheme: u.Scheme, address: u.Address()}
	if u.User != nil {
		key.user = u.User.String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = make(map[login]*admission)
	}
	if l.known[key] == nil {
		l.known[key] = &admission{open: u.User == nil} // the anonymous login is rarely refused
	}
	v = &visit{all: l, to: l.known[key]}
	if !v.to.open {
		ctx = ftpexec.WithTrace(ctx, v.trace())
	}
	return context.WithValue(ctx, visitKey{}, v), v
}

// trace tells from the events of a job when its login has succeeded.
func (v *visit) trace() *ftpexec.Trace {
	return &ftpexec.Trace{
		GotConn: func(i ftpexec.ConnInfo) {
			if i.Reused {
				v.settle(nil)
			}
		},
		Reply: func(i ftpexec.ReplyInfo) {
			switch i.Code {
			case 230, 232, 125, 150: // the user is in (RFC 959, RFC 2228), or a transfer begins
				v.settle(nil)
			}
		},
	}
}

// enter is called before a job needs the server. It waits while another job tries the login, and returns the refusal, if
// there was one.
func (v *visit) enter(ctx context.Context) error {
	for ctx.Err() == nil {
		v.all.mu.Lock()
		trying := v.to.trying
		if trying == nil || v.to.open || v.entered {
			if !v.to.open && !v.entered {
				v.to.trying = make(chan struct{})
				v.first = true
			}
			v.entered = true
			defer v.all.mu.Unlock()
			return v.to.refused
		}
		v.all.mu.Unlock()
		select {
		case <-trying:
		case <-ctx.Done():
		}
	}
	return nil // what the job asks for fails
}

// settle records that the login has succeeded, or why it was refused, and lets the other jobs go on.
func (v *visit) settle(refused error) {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	if refused == nil {
		v.to.succeeded = true
	} else if !v.to.succeeded {
		v.to.refused = refused
	}
	v.unlock()
}

// leave ends a job.
func (v *visit) leave() {
	v.all.mu.Lock()
	defer v.all.mu.Unlock()
	if v.first {
		v.unlock()
	}
}

// unlock lets all jobs of the login go on. The caller holds the mutex.
func (v *visit) unlock() {
	v.to.open = true
	if v.to.trying != nil {
		close(v.to.trying)
		v.to.trying = nil
	}
}

// heed looks at the outcome of a job. Once a login has succeeded, a refusal counts for one URL only: the server may have
// enough connections of that user, and say so in words of its own.
func heed(ctx context.Context, err error) {
	v, _ := ctx.Value(visitKey{}).(*visit)
	_, givenUp := errors.AsType[*schedule.GivenUp](err)
	switch {
	case v == nil || !v.entered || givenUp:
	case err == nil:
		v.settle(nil)
	case errors.Is(err, ftpexec.ErrLogin) && !errors.Is(err, ftpexec.ErrTooMany):
		v.settle(err)
	}
}

// admit has a job wait for its login, and gives the job up if the login was refused.
func (b *engine) admit(ctx context.Context, t *schedule.Turn[*job]) {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok && t.GivenUp == nil {
		if err := v.enter(ctx); err != nil {
			t.GivenUp = schedule.GiveUp(err)
		}
	}
}
