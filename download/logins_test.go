package download

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"example.com/ftpfetch/ftpexec"
)

// TestLogins has jobs of one user begin while the first one is under way, which then ends in some way.
func TestLogins(t *testing.T) {
	refusal := &ftpexec.Error{Stage: ftpexec.StageLogin, Err: ftpexec.ErrLogin}
	full := &ftpexec.Error{Stage: ftpexec.StageLogin, Err: errors.Join(ftpexec.ErrLogin, ftpexec.ErrTooMany)}
	for name, tt := range map[string]struct {
		happens func(context.Context, *visit)
		refused bool // the others do not try
	}{
		"succeeds":               {happens: func(_ context.Context, v *visit) { v.settle(nil) }},
		"is complete":            {happens: func(ctx context.Context, _ *visit) { heed(ctx, nil) }},
		"is refused":             {happens: func(ctx context.Context, _ *visit) { heed(ctx, refusal) }, refused: true},
		"meets a full server":    {happens: func(ctx context.Context, v *visit) { heed(ctx, full); v.leave() }},
		"fails in another way":   {happens: func(ctx context.Context, v *visit) { heed(ctx, errors.New("lost")); v.leave() }},
		"ends without a word":    {happens: func(_ context.Context, v *visit) { v.leave() }},
		"is refused, logged in":  {happens: func(ctx context.Context, v *visit) { v.settle(nil); heed(ctx, refusal) }},
		"was given up meanwhile": {happens: func(ctx context.Context, v *visit) { heed(ctx, context.Canceled); v.leave() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l logins
				u := urlOf(t, "ftp://me:secret@h/f")
				ctx, first := l.visiting(t.Context(), u)
				if err := first.enter(ctx); err != nil {
					t.Error(err)
				}
				entered := make(chan error, 3)
				for range 3 {
					go func() {
						ctx, v := l.visiting(t.Context(), u)
						err := v.enter(ctx)
						entered <- err // none leaves before all have entered
					}()
				}
				synctest.Wait()
				if len(entered) > 0 {
					t.Error("a job did not wait")
				}
				tt.happens(ctx, first)
				for range 3 {
					if err := <-entered; (err != nil) != tt.refused {
						t.Errorf("a job that waited gets %v", err)
					}
				}
				ctx, other := l.visiting(t.Context(), urlOf(t, "ftp://you:secret@h/f"))
				if err := other.enter(ctx); err != nil {
					t.Errorf("another user gets %v", err)
				}
			})
		})
	}
}
