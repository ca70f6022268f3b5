package cli

import (
	"context"
	"errors"
	"iter"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// reprompt is a source that asks the person at the terminal again after a wrong password.
type reprompt struct {
	download.FullSource
	logins *logins
}

var _ download.FullSource = reprompt{}

// mostAsked is how many times a person may answer.
const mostAsked = 3

// again calls f until the server no longer refuses a login because of the person's answer, at most mostAsked times.
func (p reprompt) again(ctx context.Context, f func(context.Context) error) error {
	for n := 1; ; n++ {
		used := new(answer)
		err := f(context.WithValue(ctx, answer{}, used))
		if n == mostAsked || !errors.Is(err, ftpexec.ErrLogin) || !p.logins.wrong(used) {
			return err
		}
	}
}

// each calls list as again does. An iteration that has yielded an entry was not refused.
func (p reprompt) each(ctx context.Context, list func(context.Context) entries) entries {
	return func(yield func(ftpexec.Entry, error) bool) {
		begun := false
		err := p.again(ctx, func(ctx context.Context) error {
			for e, err := range list(ctx) {
				if !begun && errors.Is(err, ftpexec.ErrLogin) {
					return err
				}
				begun = true
				if !yield(e, err) {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			yield(ftpexec.Entry{Size: -1}, err)
		}
	}
}

// entries are what servers tell about files.
type entries = iter.Seq2[ftpexec.Entry, error]

func (p reprompt) Do(ctx context.Context, req *ftpexec.Request) (resp *ftpexec.Response, err error) {
	err = p.again(ctx, func(ctx context.Context) error {
		resp, err = p.FullSource.Do(ctx, req)
		return err
	})
	return resp, err
}

func (p reprompt) Stat(ctx context.Context, u *urlparse.URL) (e ftpexec.Entry, err error) {
	err = p.again(ctx, func(ctx context.Context) error {
		e, err = p.FullSource.Stat(ctx, u)
		return err
	})
	return e, err
}

func (p reprompt) Hash(ctx context.Context, u *urlparse.URL, algorithm string) (sum []byte, err error) {
	err = p.again(ctx, func(ctx context.Context) error {
		sum, err = p.FullSource.Hash(ctx, u, algorithm)
		return err
	})
	return sum, err
}

func (p reprompt) List(ctx context.Context, u *urlparse.URL) entries {
	return p.each(ctx, func(ctx context.Context) entries { return p.FullSource.List(ctx, u) })
}

func (p reprompt) Entries(ctx context.Context, u *urlparse.URL) entries {
	return p.each(ctx, func(ctx context.Context) entries { return p.FullSource.Entries(ctx, u) })
}

func (p reprompt) EntriesEarly(ctx context.Context, u *urlparse.URL, entry func(ftpexec.Entry),
	login func(string)) entries {
	return p.each(ctx, func(ctx context.Context) entries {
		return p.FullSource.EntriesEarly(ctx, u, entry, login)
	})
}

func (p reprompt) StatAll(ctx context.Context, urls []*urlparse.URL) entries {
	return p.each(ctx, func(ctx context.Context) entries { return p.FullSource.StatAll(ctx, urls) })
}

// answer is what a person has answered, and to which question; see [logins.supply].
type answer struct {
	of   login
	text string
}

// wrong forgets an answer that a server has refused, unless a new answer has replaced it. It returns false if no answer
// was used.
func (l *logins) wrong(used *answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if used.of.what == "" {
		return false
	}
	if text, ok := l.typed[used.of]; ok && text == used.text {
		delete(l.typed, login{"password", used.of.host, used.of.user})
		delete(l.typed, login{"account", used.of.host, used.of.user})
		l.refused[used.of] = true
	}
	return true
}
