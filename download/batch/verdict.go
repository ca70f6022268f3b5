package batch

import (
	"errors"
	"runtime"
	"syscall"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
)

// closeIdle closes the connections without work: they may be for another login.
func (b *engine) closeIdle() {
	if src, ok := b.src.(interface{ CloseIdleConnections() }); ok {
		src.CloseIdleConnections()
	}
}

// short reports whether fewer jobs may be of help against err: this process may open no more files. Even a job alone has
// another try or two: short closes the connections without work, and the pipes that splice(2) has left are closed when
// they are collected.
func (b *engine) short(t *schedule.Turn[*job], err error) bool {
	alone := t.Alone()
	if scarce := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE); !scarce || alone && t.Value.short == 2 {
		return false
	}
	if alone {
		t.Value.short++
	}
	b.closeIdle()
	runtime.GC()
	return true
}

// crowded reports whether the server may accept the connection once there are fewer. Not every server says so: some refuse
// the connection, or close it without a greeting. That is worth the retries of a file even if there is no other.
func (b *engine) crowded(t *schedule.Turn[*job], err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	if !ok {
		return false
	}
	times := 0
	if errors.Is(err, ftpexec.ErrLost) {
		times = retry.Count(b.Each.Retries)
	}
	crowded := errors.Is(err, ftpexec.ErrTooMany) || e.Stage == "connect" && e.Temporary() && t.MayBeFull(times)
	if crowded {
		b.closeIdle()
	}
	return crowded
}

// verdict returns what err says about the server.
func verdict(err error) schedule.Verdict {
	switch {
	case retry.NoService(err):
		return schedule.Unusable(err)
	case local(err):
		return schedule.Untouched
	}
	return schedule.Done
}

func local(err error) bool {
	var e *ftpexec.Error
	return errors.Is(err, download.ErrLocal) || errors.As(err, &e) && localfile.Failed(err)
}
