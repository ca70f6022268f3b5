package ftpexec

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jlaffaye/ftp"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// A reader may skip this file.
//
// github.com/jlaffaye/ftp asks for a transfer here: its RetrFrom and NameList. It decides that EPSV is tried before
// PASV and remembers where it fails, that REST stands between the data connection and RETR, that the final reply is
// due when a listing's data has ended, and what in a listing is a name.
//
// It does not decide how a session is opened, logged in and led to a directory, what travels together, how long is
// waited, which codes mean success, where data comes from, or what TLS protects: it insists on exact codes, has no
// deadlines, and panics on some replies. What it writes on its connection stands for the next step of the program,
// and what it reads there is the code that it knows for the judgement.

// library is the net.Conn that jlaffaye/ftp takes for a server.
type library struct {
	net.Conn // nil: the rest is not asked for
	s        *Session
	conn     *ftp.ServerConn
	in       []byte       // written, not yet a whole line
	out      bytes.Buffer // to be read
	err      error        // why the program cannot go on; to be read, for the library would not forget an error of Write

	data     *wire.Data   // of the transfer under way
	finished func() error // receives its final reply
}

func newLibrary(s *Session) (*library, error) {
	l := &library{s: s}
	l.out.WriteString("220 ready\r\n")
	connected := false
	conn, err := ftp.Dial("", ftp.DialWithDialFunc(func(string, string) (net.Conn, error) {
		if !connected {
			connected = true
			return l, nil
		}
		data, err := s.conn.OpenData(s.port)
		l.data = data
		return data, err
	}))
	l.conn = conn
	return l, err
}

// retrieve asks for a file from offset on. Its end is not asked for here: the library would tell less of it.
func (l *library) retrieve(name string, offset int64) (io.Reader, *wire.Data, error) {
	l.begin(nil)
	r, err := l.conn.RetrFrom(name, uint64(offset))
	return r, l.data, err
}

// list asks for the names in a directory; finished receives the final reply.
func (l *library) list(name string, finished func() error) ([]string, error) {
	l.begin(finished)
	return l.conn.NameList(name)
}

func (l *library) begin(finished func() error) {
	l.in, l.err, l.finished = nil, nil, finished
	l.out.Reset()
}

// Write takes commands.
func (l *library) Write(p []byte) (int, error) {
	l.in = append(l.in, p...)
	for {
		line, rest, ok := bytes.Cut(l.in, []byte("\r\n"))
		if !ok {
			return len(p), nil
		}
		l.in = rest
		verb, _, _ := strings.Cut(string(line), " ")
		if l.err == nil { // else nothing more is sent, whatever the library tries
			l.err = l.answer(verb)
		}
	}
}

// answer runs the program up to the step that the library asks for. In active mode that of EPSV is to tell the server
// where to connect to.
func (l *library) answer(verb string) error {
	verbs := []string{verb}
	if verb == "EPSV" && l.s.client.Active {
		verbs = []string{"EPRT", "PORT"}
	}
	for _, v := range verbs {
		if err := l.s.runTo(v); err != nil {
			return err
		}
	}
	port := l.s.port
	switch {
	case port == 0:
		l.out.WriteString("502 \r\n")
	case verb == "EPSV":
		fmt.Fprintf(&l.out, "229 (|||%d|)\r\n", port)
	case verb == "PASV":
		fmt.Fprintf(&l.out, "227 (0,0,0,0,%d,%d)\r\n", port>>8, port&0xff)
	case verb == "REST":
		l.out.WriteString("350 \r\n")
	default:
		l.out.WriteString("150 \r\n")
	}
	return nil
}

// Read gives replies; one that nothing was asked for is the final one of a transfer.
func (l *library) Read(p []byte) (int, error) {
	if l.err == nil && l.out.Len() == 0 {
		l.err = l.finished()
		l.out.WriteString("226 \r\n")
	}
	if l.err != nil {
		return 0, l.err
	}
	return l.out.Read(p)
}

// RemoteAddr returns the server's address; the library insists on a *net.TCPAddr.
func (l *library) RemoteAddr() net.Addr { return l.s.conn.RemoteAddr() }

// Close ends the connection.
func (l *library) Close() error { return l.s.conn.Close() }
