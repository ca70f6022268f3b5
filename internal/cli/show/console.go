package show

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Console is the terminal that the process belongs to, whatever its standard
// input and output are.
type Console struct{ In, Out *os.File }

// OpenConsole opens the console by its names on this system.
func OpenConsole() (*Console, error) {
	in, err := os.OpenFile(consoleIn, os.O_RDWR, 0)
	if err != nil || consoleOut == consoleIn {
		return &Console{in, in}, err
	}
	out, err := os.OpenFile(consoleOut, os.O_RDWR, 0)
	if err != nil {
		in.Close()
	}
	return &Console{in, out}, err
}

// Close closes the console.
func (c *Console) Close() {
	c.In.Close()
	if c.Out != c.In {
		c.Out.Close()
	}
}

// ReadSecret shows prompt, reads a line without echo and closes the console. If
// ctx ends first, it turns the echo back on and leaves the read to end with the
// process: not every system can cancel a read of a terminal.
func (c *Console) ReadSecret(ctx context.Context, prompt string) (string, error) {
	fd := int(c.In.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		c.Close()
		return "", err
	}
	var line string
	read := make(chan error, 1)
	go func() {
		ask := func() { fmt.Fprint(c.Out, prompt) }
		if ask(); ctx.Err() != nil { // a stopped terminal has resumed too late
			return
		}
		var err error
		line, err = readHidden(c.In, ask)
		fmt.Fprintln(c.Out) // the terminal did not echo the line end
		read <- err
	}()
	select {
	case err := <-read:
		c.Close()
		return line, err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		fmt.Fprintln(c.Out)
		return "", context.Cause(ctx)
	}
}

// maxLine is the length of the longest line accepted as a password, in bytes.
const maxLine = 4096

// ErrTooLong means that a line is too long for a password.
var ErrTooLong = errors.New("the line is too long for a password")

// ReadLine reads a line byte by byte, so that what follows stays unread. It
// returns io.EOF if the input ends before the first byte.
func ReadLine(in io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) <= maxLine {
		_, err := io.ReadFull(in, one)
		switch {
		case err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)):
			return "", err
		case err != nil, one[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		line = append(line, one[0])
	}
	return "", ErrTooLong
}
