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
	finished func() error // receives its final reply
}

func newLibrary(r *run) (*library, error) {
	l := &library{run: r}
	l.out.WriteString("220 ready\r\n")
	connected := false
	conn, err := ftp.Dial("", ftp.DialWithDialFunc(func(string, string) (net.Conn, error) {
		if !connected {
			connected = true
			return l, nil
		}
		data, err := l.run.conn.OpenData(l.run.dataHost(), l.run.port)
		l.data = data
		if l.finished == nil || err != nil {
			return data, err
		}
		return l.run.watch(data), nil
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

// list returns the lines of the listing of a run. It calls finished to receive the final reply.
func (l *library) list(r *run, finished func() error) ([]string, error) {
	l.begin(r, finished)
	return l.conn.NameList(r.goal.op.Arg)
}

func (l *library) begin(r *run, finished func() error) {
	l.run = r
	l.in = nil
	l.err = nil
	l.finished = finished
	l.out.Reset()
}

// Write takes commands from the library.
func (l *library) Write(p []byte) (int, error) {
	l.in = append(l.in, p...)
	for {
		line, rest, ok := bytes.Cut(l.in, []byte("\r\n"))
		if !ok {
			return len(p), nil
		}
		l.in = rest
		verb, _, _ := strings.Cut(string(line), " ")
		if l.err == nil { // after an error nothing more is sent, whatever the library tries
			l.err = l.answer(verb)
		}
	}
}

// answer runs the program up to the step with this verb. In active mode EPSV stands for EPRT and PORT. NLST stands for
// whichever command lists the directory, because NameList returns the lines and List loses the lines that it cannot
// read.
func (l *library) answer(verb string) error {
	verbs := []string{verb}
	switch {
	case verb == "EPSV" && l.run.client.Active:
		verbs = []string{"EPRT", "PORT"}
	case verb == "NLST":
		verbs = []string{l.run.goal.op.Verb}
	}
	for _, v := range verbs {
		if err := l.run.runTo(v); err != nil {
			return err
		}
	}
	port := l.run.port
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
