package show

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/term"
)

// The device names of the console that the process belongs to.
const consoleIn, consoleOut = "CONIN$", "CONOUT$"

// movesCursor makes the console understand the sequences that move the cursor, and reports whether it does.
func movesCursor(console *os.File, kind string) bool {
	var mode uint32
	handle := windows.Handle(console.Fd())
	return kind != "dumb" && windows.GetConsoleMode(handle, &mode) == nil &&
		windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// readHidden reads a line from the console without echo. It returns io.EOF if the user types Ctrl-Z instead.
func readHidden(console *os.File, _ func()) (string, error) {
	line, err := term.ReadPassword(int(console.Fd()))
	return string(line), err
}

// Windows has no job control.

func inBackground(io.Writer) bool { return false }

func aroundStops(_, _ func()) (remove func()) { return func() {} }
