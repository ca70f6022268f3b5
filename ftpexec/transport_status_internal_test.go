package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/ftpfetch/urlparse"
)

// Every error of the package has its statuses: without a reply, and with the replies 550, 530, 450 and 421.
func TestStatusOfEveryError(t *testing.T) {
	plain := [5]int{0, 502, 401, 503, 503}
	tests := map[string]struct {
		err  error
		want [5]int
	}{
		"ErrConnect":       {ErrConnect, plain},
		"ErrProtocol":      {ErrProtocol, [5]int{}},
		"ErrLost":          {ErrLost, plain},
		"ErrTimeout":       {ErrTimeout, plain},
		"ErrTruncated":     {ErrTruncated, [5]int{}},
		"ErrTLS":           {ErrTLS, plain},
		"errNoTLS":         {errNoTLS, plain},
		"ErrLogin":         {ErrLogin, [5]int{0, 401, 401, 401, 503}},
		"ErrNoCredentials": {ErrNoCredentials, [5]int{401, 401, 401, 401, 503}},
		"errDirectory":     {errDirectory, [5]int{0, 404, 401, 503, 503}},
		"errType":          {errType, plain},
		"errPassive":       {errPassive, plain},
		"errActive":        {errActive, plain},
		"ErrNoRestart":     {ErrNoRestart, plain},
		"errTransfer":      {errTransfer, [5]int{0, 403, 401, 503, 503}},
		"ErrNotFound":      {ErrNotFound, [5]int{0, 404, 404, 404, 503}},
		"errNoHash":        {errNoHash, plain},
		"ErrTooMany":       {and(errTransfer, ErrTooMany), [5]int{0, 503, 503, 503, 503}},
		"ErrTLSRequired":   {and(ErrLogin, ErrTLSRequired), [5]int{0, 403, 403, 403, 403}},
		"ErrIsDirectory":   {ErrIsDirectory, plain},
		"ErrNotDirectory":  {ErrNotDirectory, plain},
		"ErrLine":          {ErrLine, plain},
		"errOtherServer":   {errOtherServer, plain},
		"errBusy":          {errBusy, plain},
		"ErrChanged":       {ErrChanged, plain},
	}
	for name, tt := range tests {
		for i, code := range []int{0, 550, 530, 450, 421} {
			e := &Error{Op: "RETR f", Err: tt.err}
			if code != 0 {
				e.Reply = &Reply{Code: code}
			}
			if got := statusOf(fmt.Errorf("wrapped: %w", e)); got != tt.want[i] {
				t.Errorf("%s with reply %d: got %d, want %d", name, code, got, tt.want[i])
			}
		}
	}
	for _, err := range []error{nil, errors.New("other"), &urlparse.Error{}, &Error{Err: context.Canceled}, &Error{Err: context.DeadlineExceeded}} {
		if got := statusOf(err); got != 0 {
			t.Errorf("%v: got %d, want 0", err, got)
		}
	}
}
