package ftpexec

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"

	"github.com/jlaffaye/ftp"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
)

// You can understand the rest of the package without this file.
//
// It connects github.com/jlaffaye/ftp: RetrFrom and NameList of that library start the transfers. The library decides
// the order of EPSV, PASV, REST and RETR, and that the final reply is due when the data of a listing has ended. The
// program decides everything else, because the library insists on exact codes, has no deadlines, and panics on some
// replies.
//
// Calls go in both directions only here: a run calls the library, and when the library writes a command, Write calls
// run.runTo, which runs the program up to that step. The library then reads the code that it expects.

// library is the net.Conn that jlaffaye/ftp uses as the connection to a server.
type library struct {
	net.Conn      // nil; the library calls no other methods
	run      *run // the run that uses the library now
	conn     *ftp.ServerConn
	in       []byte       // written by the library, not yet a whole line
	out      bytes.Buffer // to be read by the library
	// why the program cannot go on; Read returns it, because the library would keep an error of Write
	err error

	data     *wire.Data   // of the current transfer
	lines    *receiver    // it, if it brings a listing
	finished func() error // receives its final reply
}

func newLibrary(r *run) (*library, error) {
	l := &library{run: r}
	l.out.WriteString("220 ready\r\n")
	connected := false
	send, receive := l.sendNext, l.receiveAll
	conn, err := ftp.Dial("", ftp.DialWithDialFunc(func(string, string) (net.Conn, error) {
		if !connected {
			connected = true
			return l, nil
		}
		data, err := l.run.conn.OpenData(l.run.dataHost(), l.run.port, send, receive)
		l.data = data
		if l.finished == nil || err != nil {
			return data, err
		}
		list := l.run.receive(data)
		l.lines = list
		return list, nil
	}))
	l.conn = conn
	return l, err
}

// retrieve starts to retrieve the file of a run. body handles the end of the data, about which the library reports
// less.
func (l *library) retrieve(r *run) (io.Reader, *wire.Data, error) {
	l.begin(r, nil)
	data, err := l.conn.RetrFrom(r.goal.op.Arg, uint64(r.goal.offset))
	return data, l.data, err
}

// list returns the lines of the listing of a run, or nil if none came. It calls finished to receive the final reply.
func (l *library) list(r *run, finished func() error) (*listing.Text, error) {
	l.begin(r, finished)
	_, err := l.conn.NameList(r.goal.op.Arg) // the receiver takes the lines
	if l.lines == nil {
		return nil, err
	}
	if r.utf8 && !l.lines.utf8 {
		r.octets = true
		r.learn(func(h *habits) { h.octets = true })
	}
	return l.lines.text, err
}

func (l *library) begin(r *run, finished func() error) {
	l.run = r
	l.in = l.in[:0]
	l.err = nil
	l.lines = nil
	l.finished = finished
	l.out.Reset()
}

// sendNext sends the flight with the command of the transfer, or the one before it.
func (l *library) sendNext() error { return l.run.sendIfAnswered() }

// receiveAll receives the replies up to the one to the command of the transfer.
func (l *library) receiveAll() error {
	l.err = l.run.runTo(l.run.goal.op.Verb)
	return l.err
}

// libraryVerbs are the commands that the library sends.
var libraryVerbs = []string{"EPSV", "PASV", "REST", "RETR", "NLST"}

// Write takes commands from the library.
func (l *library) Write(p []byte) (int, error) {
	l.in = append(l.in, p...)
	lines := l.in
	for {
		line, rest, ok := bytes.Cut(lines, []byte("\r\n"))
		if !ok {
			l.in = append(l.in[:0], lines...)
			return len(p), nil
		}
		lines = rest
		verb, _, _ := bytes.Cut(line, []byte(" "))
		i := slices.IndexFunc(libraryVerbs, func(v string) bool { return v == string(verb) })
		if l.err == nil && i >= 0 { // after an error nothing more is sent, whatever the library tries
			l.err = l.answer(libraryVerbs[i])
		}
	}
}

// answer runs the program up to the step with this verb. In active mode EPSV stands for EPRT and PORT. NLST stands for
// whichever command lists the directory, because NameList returns the lines and List loses the lines that it cannot
// read.
func (l *library) answer(verb string) error {
	due := verb
	switch {
	case verb == "EPSV" && l.run.client.Active:
		due = "EPRT"
	case verb == "NLST":
		due = l.run.goal.op.Verb
	}
	err := l.run.runTo(due)
	if err == nil && due == "EPRT" {
		err = l.run.runTo("PORT")
	}
	if err != nil {
		return err
	}
	port := l.run.port
	switch {
	case port == 0:
		l.out.WriteString("502 \r\n")
	case verb == "EPSV":
		text := append(l.out.AvailableBuffer(), "229 (|||"...)
		l.out.Write(append(strconv.AppendInt(text, int64(port), 10), "|)\r\n"...))
	case verb == "PASV":
		fmt.Fprintf(&l.out, "227 (0,0,0,0,%d,%d)\r\n", port>>8, port&0xff)
	case verb == "REST":
		l.out.WriteString("350 \r\n")
	default:
		l.out.WriteString("150 \r\n")
	}
	return nil
}

// Read gives replies to the library. If it has sent no command, it expects the final reply of a transfer.
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

// RemoteAddr returns the server's address. The library requires a *net.TCPAddr.
func (l *library) RemoteAddr() net.Addr { return l.run.conn.RemoteAddr() }

// Close ends the connection.
func (l *library) Close() error {
	l.run.conn.Close()
	return nil
}
