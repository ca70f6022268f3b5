package testserver

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

func (h *session) epsv() string {
	addr, err := h.listen()
	if err != nil {
		return "425 " + err.Error()
	}
	return fmt.Sprintf("229 Entering Extended Passive Mode (|||%d|)", addr.Port)
}

func (h *session) pasv() string {
	if h.srv.tcp.IP.To4() == nil {
		return "425 PASV needs IPv4, use EPSV."
	}
	addr, err := h.listen()
	if err != nil {
		return "425 " + err.Error()
	}
	return fmt.Sprintf("227 Entering Passive Mode (%s,%d,%d)", strings.ReplaceAll(addr.IP.String(), ".", ","), addr.Port>>8, addr.Port&0xff)
}

// eprt reads an argument such as |1|127.0.0.1|2121|, and port one such as 127,0,0,1,8,73.
func (h *session) eprt() string {
	fields := strings.Split(h.Arg, "|")
	if len(fields) != 5 {
		return "501 No address."
	}
	return h.calls(net.JoinHostPort(fields[2], fields[3]))
}

func (h *session) port() string {
	fields := strings.Split(h.Arg, ",")
	if len(fields) != 6 {
		return "501 No address."
	}
	high, _ := strconv.Atoi(fields[4])
	low, _ := strconv.Atoi(fields[5])
	return h.calls(fmt.Sprintf("%s:%d", strings.Join(fields[:4], "."), high<<8+low))
}

// calls makes address the other end of the next data connection.
func (h *session) calls(address string) string {
	h.dropData()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listener = caller(address)
	return "200 Done."
}

// caller is a listener that does not wait for a client, but connects to it.
type caller string

func (c caller) Accept() (net.Conn, error) { return net.DialTimeout("tcp", string(c), closeTimeout) }
func (c caller) Close() error              { return nil }
func (c caller) Addr() net.Addr            { return nil }

// transfer sends contents on the data connection, up to the limit of [EndDataAfter], and returns the final reply.
func (h *session) transfer(contents io.Reader) string {
	const broken = "426 The transfer is broken off."
	data, below := h.accept()
	if data == nil {
		return "425 No data connection."
	}
	defer h.dropData()
	if _, err := h.Write([]byte("150 Here it comes.\r\n")); err != nil {
		return broken
	}
	if secure, ok := data.(*tls.Conn); ok && secure.Handshake() != nil { // even if nothing is to be sent
		return broken
	}
	if h.ending != intact {
		contents = io.LimitReader(contents, h.room)
	}
	n, err := io.Copy(data, contents)
	switch {
	case err != nil:
		return broken
	case h.ending == intact || n < h.room:
		_ = data.Close()
	case h.ending == Reset:
		below.reset()
	case h.ending == Stalled:
		_, _ = io.Copy(io.Discard, below.Conn) // until the client or the server ends the connection
		return broken
	}
	return "226 Transfer complete."
}
