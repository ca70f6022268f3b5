package show

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/term"
)

// consoleIn and consoleOut are the device names of the console.
const consoleIn, consoleOut = "CONIN$", "CONOUT$"

// movesCursor makes the console accept the sequences that move the cursor, and reports whether it does.
func movesCursor(console *os.File, kind string) bool {
	var mode uint32
	handle := windows.Handle(console.Fd())
	return kind != "dumb" && windows.GetConsoleMode(handle, &mode) == nil &&
		windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// readSecret reads a line without echo. Only ^Z with Enter ends the input of a console.
func readSecret(in *os.File) (string, error) {
	line, err := term.ReadPassword(int(in.Fd()))
	return string(line), err
}

// inBackground reports false: Windows has no job control.
func inBackground(io.Writer) bool { return false }
