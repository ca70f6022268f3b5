package ftpexec

import (
	"bufio"
	"bytes"
	"net"
	"unicode/utf8"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
)

// receiver is the data connection of a listing. Its first Read receives all lines; the library, which would keep them
// as they are, gets none.
type receiver struct {
	net.Conn
	text *listing.Text
	tell func(line []byte, plain bool) // gets each line; nil if nothing wants them
	utf8 bool                          // all lines so far are UTF-8
	most int64                         // bytes of memory
}

// mostMemory is how many bytes of memory a listing may take. A listing of a million entries takes less.
const mostMemory = 100 << 20

// firstBuffer is the size of the buffer in which a receiver begins, in bytes. It grows up to the length of the longest
// line.
const firstBuffer = 4 << 10

// Read receives the lines, and returns no bytes with the error that ends them. A line that is too long ends them with
// bufio.ErrTooLong.
func (r *receiver) Read([]byte) (int, error) {
	buffer := make([]byte, firstBuffer)
	held := 0 // bytes of a line that is not yet whole
	for {
		n, err := r.Conn.Read(buffer[held:])
		full := held+n == len(buffer)
		rest := buffer[:held+n]
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			r.add(line)
			rest = after
		}
		if err != nil {
			if len(rest) > 0 {
				r.add(rest)
			}
			return 0, err
		}
		if r.text.Memory() > r.most {
			return 0, wire.ErrListing
		}
		if len(rest) == bufio.MaxScanTokenSize {
			return 0, bufio.ErrTooLong
		}
		held = copy(buffer, rest)
		if full && len(buffer) < bufio.MaxScanTokenSize {
			buffer = append(buffer, make([]byte, len(buffer))...)
		}
	}
}

func (r *receiver) add(line []byte) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	r.utf8 = r.utf8 && utf8.Valid(line)
	plain := r.text.Add(line)
	if r.tell != nil {
		r.tell(line, plain)
	}
}
