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

// What the tests know about the defaults and the one connection of a call.
const (
	DefaultConnectTimeout = defaultConnectTimeout
	DefaultMaxIdle        = defaultMaxIdle
	DefaultIdleTimeout    = defaultIdleTimeout
	DefaultEmail          = defaultEmail
)

type Session = session

func (c *Client) Session() *Session { return c.session() }
