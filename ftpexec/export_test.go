package ftpexec

import "example.com/ftpfetch/ftpexec/internal/wire"

// What the tests tell apart among refusals.
var (
	ErrTLSUnavailable = errNoTLS
	ErrDirectory      = errDirectory
	ErrType           = errType
	ErrPassive        = errPassive
	ErrActive         = errActive
	ErrOtherServer    = errOtherServer
	ErrBusy           = errBusy
	ErrNoHost         = wire.ErrResolve
)
