package show

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
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

// inBackground reports false: Windows has no job control.
func inBackground(io.Writer) bool { return false }
