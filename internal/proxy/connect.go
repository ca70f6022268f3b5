package proxy

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// maxHeader is the largest header of a proxy's answer, in bytes.
const maxHeader = 16 << 10

// maxInterim is the largest number of answers up to the final one, which is not 1xx.
const maxInterim = 8

// dialHTTP asks an HTTP proxy for a connection.
func (p *Proxy) dialHTTP(ctx context.Context, forward DialFunc, network, address string) (net.Conn, error) {
	conn, err := p.reach(ctx, forward, network)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	tunnel, err := p.tunnel(ctx, conn, address)
	stop()
	if ctx.Err() != nil { // check ctx itself: a context derived from it may have ended first
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return tunnel, nil
}

// tunnel makes conn the connection to address.
func (p *Proxy) tunnel(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	conn, err := p.secure(ctx, conn)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, p.request(address)); err != nil {
		return nil, p.refused("cannot send the request: " + innermost(err))
	}
	status, err := finalStatus(conn)
	switch {
	case errors.Is(err, errAnswer):
		return nil, p.refused(err.Error())
	case err != nil:
		return nil, p.refused("no answer: " + innermost(err))
	case status == http.StatusProxyAuthRequired:
		return nil, p.LoginRefused()
	case status/100 != 2:
		return nil, p.answered(status, "it refuses to connect to "+address)
	}
	return conn, nil
}

// LoginRefused returns the error for an answer with the status 407.
func (p *Proxy) LoginRefused() error {
	if p.login {
		return p.answered(http.StatusProxyAuthRequired, "it refuses its user or password")
	}
	return p.answered(http.StatusProxyAuthRequired, "it wants a user and password")
}

// secure returns the connection to an https proxy under TLS, and any other as it is. After an error the caller
// closes conn.
func (p *Proxy) secure(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if p.scheme != "https" {
		return conn, nil
	}
	under := tls.Client(conn, p.tlsConfig())
	if err := under.HandshakeContext(ctx); err != nil {
		return nil, p.refused(handshakeFailure(err))
	}
	return under, nil
}

// handshakeFailure says what failed, without the names in the proxy's certificate.
func handshakeFailure(err error) string {
	if cert := (*tls.CertificateVerificationError)(nil); errors.As(err, &cert) {
		return "TLS handshake failed: its certificate is not trusted, or for another host"
	}
	return "TLS handshake failed: " + innermost(err)
}

func (p *Proxy) tlsConfig() *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if p.TLSConfig != nil {
		cfg = p.TLSConfig.Clone()
	}
	cfg.ServerName = p.host
	return cfg
}

// request returns a CONNECT request (RFC 9110 section 9.3.6) with Basic authentication (RFC 7617).
func (p *Proxy) request(address string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", address, address)
	if p.login {
		fmt.Fprintf(&b, "Proxy-Authorization: %s\r\n", Basic(p.user, p.password))
	}
	b.WriteString("\r\n")
	return b.String()
}

// Basic returns the credentials of a user for Basic authentication (RFC 7617).
func Basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

var errAnswer = errors.New("its answer is not HTTP")

// finalStatus reads answers up to the first that is not interim. It reads nothing after it: the server beyond
// the proxy may have spoken already.
func finalStatus(r io.Reader) (int, error) {
	for range maxInterim {
		header, err := readHeader(r)
		if err != nil {
			return 0, err
		}
		if status, err := parseStatus(header); err != nil || status/100 != 1 {
			return status, err
		}
	}
	return 0, fmt.Errorf("%w: too many 1xx answers", errAnswer)
}

// readHeader reads up to the empty line, byte by byte: what follows belongs to the connection.
func readHeader(r io.Reader) (string, error) {
	var b strings.Builder
	one := make([]byte, 1)
	for b.Len() < maxHeader {
		if _, err := io.ReadFull(r, one); err != nil {
			return "", err
		}
		b.WriteByte(one[0])
		if one[0] == '\n' && headerEnds(b.String()) {
			return b.String(), nil
		}
	}
	return "", fmt.Errorf("%w: its header is too long", errAnswer)
}

func headerEnds(s string) bool {
	return strings.HasSuffix(s, "\n\r\n") || strings.HasSuffix(s, "\n\n")
}

// parseStatus returns the code of "HTTP/1.1 200 text" (RFC 9112 section 4). The text is never shown.
func parseStatus(header string) (int, error) {
	line, _, _ := strings.Cut(header, "\n")
	version, rest, _ := strings.Cut(strings.TrimRight(line, "\r"), " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.ParseUint(code, 10, 16)
	if !strings.HasPrefix(version, "HTTP/1.") || err != nil || len(code) != 3 || status < 100 {
		return 0, errAnswer
	}
	return int(status), nil
}
