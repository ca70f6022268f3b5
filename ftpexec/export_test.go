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
	ErrNoHost         = wire.ErrResolve
)

// SetMaxListing bounds the listings of c.
func (c *Client) SetMaxListing(n int64) *Client {
	c.maxListing = n
	return c
}

// What the tests know about the defaults.
const (
	DefaultConnectTimeout = defaultConnectTimeout
	DefaultMaxIdle        = defaultMaxIdle
	IdleTimeout           = idleTimeout
	IdleAdmitted          = idleAdmitted
	AdmittedTime          = admittedTime
	Email                 = email
)
