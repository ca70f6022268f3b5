package ftpexec

import (
	"errors"
	"io/fs"
	"net/http"
)

// statuses says which status stands for an error with a reply of the server; the first row that fits counts. With 0 the
// error is one of RoundTrip. A nil error stands for every other one; a code is that of the reply, or its first digit, and 0
// stands for every code.
var statuses = []struct {
	err    error
	code   int
	status int
}{
	{ErrProtocol, 0, 0},
	{ErrTruncated, 0, 0},
	{ErrTLSRequired, 0, http.StatusForbidden},
	{ErrTooMany, 0, http.StatusServiceUnavailable},
	{nil, 421, http.StatusServiceUnavailable},
	{ErrLogin, 0, http.StatusUnauthorized}, // with a password too: another one may be right
	{ErrNoCredentials, 0, http.StatusUnauthorized},
	{fs.ErrPermission, 0, http.StatusForbidden},
	{ErrNotFound, 0, http.StatusNotFound},
	{fs.ErrNotExist, 0, http.StatusNotFound},
	{errDirectory, 550, http.StatusNotFound},
	{errTransfer, 550, http.StatusForbidden},
	{nil, 530, http.StatusUnauthorized},
	{nil, 4, http.StatusServiceUnavailable},
	{nil, 5, http.StatusBadGateway},
}

// statusOf returns the status for err, or 0 if it is not an answer of the server, or one that makes no sense.
func statusOf(err error) int {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	code := 0
	switch {
	case e.Reply != nil:
		code = e.Reply.Code
	case !errors.Is(err, ErrNoCredentials): // which follows a 331 or 332
		return 0
	}
	for _, row := range statuses {
		if (row.err == nil || errors.Is(err, row.err)) && (row.code == 0 || row.code == code || row.code == code/100) {
			return row.status
		}
	}
	return 0
}
