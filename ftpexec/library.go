package ftpexec

import (
	"bytes"
	"io"
	"net"
	"strconv"

	"github.com/jlaffaye/ftp"
)

// You can understand the rest of the package without this file.
//
// It connects github.com/jlaffaye/ftp: RetrFrom and NameList of that library start to read the data of a transfer. The
// library insists on exact codes, has no deadlines, and panics on some replies, so it does not talk to the server. The
// run has sent the commands, and judged the replies. The library writes its commands to nobody, reads a transcript of
// replies that it understands, and gets the data connection that is there already.

// library is the net.Conn that jlaffaye/ftp uses as the connection to a server.
type library struct {
	net.Conn // nil; the library calls no other methods
	address  net.Addr
	conn     *ftp.ServerConn
	replies  bytes.Buffer // to be read by the library
	data     net.Conn     // what it gets when it dials next
}

// newLibrary returns the library for the connection to a server. The library requires a *net.TCPAddr.
func newLibrary(address *net.TCPAddr) (*library, error) {
	l := &library{address: address}
	l.data = l
	l.replies.WriteString("220 ready\r\n")
	conn, err := ftp.Dial("", ftp.DialWithDialFunc(func(string, string) (net.Conn, error) { return l.data, nil }))
	l.conn = conn
	return l, err
}

// retrieve returns the contents of a file from offset on, which come over data, a connection to port.
func (l *library) retrieve(name string, offset int64, port int, data net.Conn) (io.Reader, error) {
	l.play(port, data)
	if offset > 0 {
		l.replies.WriteString("350 \r\n")
	}
	l.replies.WriteString("150 \r\n")
	return l.conn.RetrFrom(name, uint64(offset))
}

// list reads a listing over data, a connection to port. NameList stands for whichever command lists the directory,
// because it passes all lines on, and List of the library loses those that it cannot read.
func (l *library) list(name string, port int, data net.Conn) error {
	l.play(port, data)
	l.replies.WriteString("150 \r\n226 \r\n")
	_, err := l.conn.NameList(name) // the receiver takes the lines
	return err
}

// play begins the transcript of a transfer: the library asks for a port and dials it.
func (l *library) play(port int, data net.Conn) {
	l.data = data
	l.replies.Reset()
	l.replies.WriteString("229 (|||")
	l.replies.Write(strconv.AppendInt(l.replies.AvailableBuffer(), int64(port), 10))
	l.replies.WriteString("|)\r\n")
}

// Write takes commands from the library.
func (l *library) Write(p []byte) (int, error) { return len(p), nil }

// Read gives replies to the library.
func (l *library) Read(p []byte) (int, error) { return l.replies.Read(p) }

// RemoteAddr returns the server's address.
func (l *library) RemoteAddr() net.Addr { return l.address }

// Close does nothing: the connection belongs to the run.
func (l *library) Close() error { return nil }
