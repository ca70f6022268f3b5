package proxytest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strconv"
)

// socks serves one client (RFC 1928).
func (p *Proxy) socks(conn net.Conn, r *bufio.Reader) {
	methods, err := counted(r, 1)
	if err != nil || !p.admit(conn, r, methods) {
		return
	}
	address, err := target(r)
	if err != nil {
		return
	}
	server, err := p.dial(address)
	if err != nil {
		_, _ = conn.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0}) // "not allowed by ruleset"
		return
	}
	_, _ = conn.Write([]byte{5, 0, 0, 1, 127, 0, 0, 1, 0, 1})
	p.relay(r, conn, server)
}

// counted skips some bytes, and then reads a length and a field of that length.
func counted(r *bufio.Reader, skip int) ([]byte, error) {
	if _, err := r.Discard(skip); err != nil {
		return nil, err
	}
	n, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return b, err
}

// admit asks for the user and password (RFC 1929) if the proxy requires them.
func (p *Proxy) admit(conn net.Conn, r *bufio.Reader, methods []byte) bool {
	if p.o.User == "" {
		_, err := conn.Write([]byte{5, 0})
		return err == nil
	}
	if !bytes.Contains(methods, []byte{2}) {
		_, _ = conn.Write([]byte{5, 0xff})
		return false
	}
	_, _ = conn.Write([]byte{5, 2})
	user, err := counted(r, 1)
	if err != nil {
		return false
	}
	password, err := counted(r, 0)
	if err != nil {
		return false
	}
	if string(user) != p.o.User || string(password) != p.o.Password {
		_, _ = conn.Write([]byte{1, 1})
		return false
	}
	_, err = conn.Write([]byte{1, 0})
	return err == nil
}

// target reads the request for a connection.
func target(r *bufio.Reader) (string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", err
	}
	var host string
	switch head[3] {
	case 3:
		name, err := counted(r, 0)
		if err != nil {
			return "", err
		}
		host = string(name)
	default:
		ip := make(net.IP, map[byte]int{1: 4, 4: 16}[head[3]])
		if _, err := io.ReadFull(r, ip); err != nil {
			return "", err
		}
		host = ip.String()
	}
	port := make([]byte, 2)
	_, err := io.ReadFull(r, port)
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))), err
}
