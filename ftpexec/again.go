package ftpexec

import (
	"errors"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/local/localfile"
)

// failedTry is what is known about a try of a run that failed. It is a value, as a [state] is.
type failedTry struct {
	err        error
	reused     bool   // on a connection that was kept
	sequential bool   // one command at a time
	advance    bool   // a port that was asked for at the end of the last transfer has not come
	advanced   bool   // it has come
	ipv4       bool   // the connection is over IPv4
	setUp      string // the first command that sets up a data connection
	noEPSV     bool   // EPSV is known not to work
	listing    bool
	refused    bool // before, a way to list was refused
}

// failed describes a try that ended with err.
func (r *run) failed(err error, reused bool) failedTry {
	return failedTry{
		err:        err,
		reused:     reused,
		sequential: r.sequential,
		advance:    r.advance != "",
		advanced:   r.advanced,
		ipv4:       r.conn.IPv4(),
		setUp:      r.setUp()[0],
		noEPSV:     r.known().noEPSV,
		listing:    r.goal.listing,
		refused:    r.refusal != nil,
	}
}

// remedy is what a run does differently after a failed try.
type remedy struct {
	learn func(*habits)
	note  string
}

// remedy returns what can avoid the failure in another try. It returns false if nothing can.
func (f failedTry) remedy() (remedy, bool) {
	dial := errors.As(f.err, new(*wire.DataDialError))
	local := localfile.Failed(f.err)
	switch {
	case f.tooEarly(dial && !local):
		return remedy{isLate, "no data connection could be set up before the end of the last transfer: " +
			"trying again on a new connection"}, true
	case wire.IsOneOf(f.err, errUnexpected, ErrNoRestart, errComputing), local:
		return remedy{}, false
	case f.foreseen():
		return remedy{}, true
	}
	if m, ok := f.afterReplies(); ok {
		return m, true
	}
	switch {
	case f.reused && !dial && !errors.Is(f.err, wire.ErrListing):
		return remedy{nil, "the connection kept from the last URL is gone: trying again on a new one"}, true
	case errors.As(f.err, new(*wire.AheadError)) && !f.sequential:
		// It was not sequential in this try: another session may have learned it since.
		return remedy{isSequential, "replies to commands sent ahead were lost: " +
			"trying again, one command at a time"}, true
	case f.lostAtEPSV():
		return remedy{hasNoEPSV, "the server ends the connection at EPSV: trying again with PASV"}, true
	case dial && f.ipv4 && f.setUp == "EPSV":
		return remedy{hasNoEPSV, "the EPSV port cannot be reached: trying again with PASV"}, true
	}
	return remedy{}, false
}

// tooEarly reports whether the server could not set up a data connection before the end of the last transfer.
// unreachable says that the port could not be reached.
func (f failedTry) tooEarly(unreachable bool) bool { return f.advance || f.advanced && unreachable }

// afterReplies is the part of remedy for failures that replies show.
func (f failedTry) afterReplies() (remedy, bool) {
	switch {
	case errors.Is(f.err, wire.ErrUnsettled):
		return remedy{isUnsettled, "the server did not end the last transfer, which was left: " +
			"trying again on a new connection"}, true
	case errors.Is(f.err, errPASSDue):
		return remedy{wantsPASS, errPASSDue.Error() + ": trying again with PASS"}, true
	case !f.sequential && (errors.Is(f.err, wire.ErrDisorder) || errors.Is(f.err, wire.ErrStray) && !f.reused):
		return remedy{isSequential, "a reply belongs to another command: trying again, one command at a time"}, true
	}
	return remedy{}, false
}

// foreseen reports whether the failure is one after which the run just goes on with another connection.
func (f failedTry) foreseen() bool {
	return wire.IsOneOf(f.err, errNextWay, errStalePort, errUnended) || f.brokeAfterRefusal() ||
		errors.Is(f.err, errAbrupt) && f.listing
}

// brokeAfterRefusal reports whether the connection broke between one way to list, which was refused, and the next.
func (f failedTry) brokeAfterRefusal() bool {
	e, ok := errors.AsType[*Error](f.err)
	return ok && f.refused && (e.Op == "EPSV" || e.Op == "PASV") &&
		wire.IsOneOf(f.err, wire.ErrStray, errStalePort, ErrLost)
}

// lostAtEPSV reports whether the connection ended at an EPSV that was sent alone.
func (f failedTry) lostAtEPSV() bool {
	e, ok := errors.AsType[*Error](f.err)
	return ok && e.Op == "EPSV" && e.Code == 0 && errors.Is(f.err, ErrLost) && !f.noEPSV
}
