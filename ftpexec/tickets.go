package ftpexec

import (
	"fmt"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// errNoTicket is not temporary: every transfer will be refused.
var errNoTicket = fmt.Errorf("the server wants data connections to resume the TLS session, "+
	"but has given no ticket to resume it with%.0w", ErrTLS)

const sessionOptions = "The server needs TLS 1.3 or session tickets, or must not insist; " +
	"proftpd: TLSProtocol TLSv1.2 TLSv1.3, TLSSessionTickets on, or TLSOptions NoSessionReuseRequired"

// lacksTicket reports whether reply, to a transfer of which no byte has come, refuses a data connection because it did
// not resume the TLS session of the control connection, which this client could not do. vsftpd says so with 522,
// and proftpd with 425, as of any data connection that fails.
func (s *state) lacksTicket(reply wire.Reply) bool {
	return (reply.Code == 425 || reply.Code == 522) && s.noTicket
}
