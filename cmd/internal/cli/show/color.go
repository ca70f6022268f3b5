package show

import (
	"os"
	"strings"
)

// Color is the number of a color in the sequences of ECMA-48.
type Color string

const (
	Red    Color = "31"
	Yellow Color = "33"
	Blue   Color = "1;34"
	Cyan   Color = "36"
)

func (c Color) paint(text string) string { return "\x1b[" + string(c) + "m" + text + "\x1b[m" }

// Colored reports whether a stream may show colors: it is a terminal that supports them, and the variable NO_COLOR is
// not set.
func Colored(stream any) bool {
	if o, ok := stream.(*output); ok {
		stream = o.Writer
	}
	if os.Getenv("NO_COLOR") != "" || !IsTerminal(stream) {
		return false
	}
	kind := strings.ToLower(os.Getenv("TERM"))
	f, ok := stream.(*os.File)
	return !ok && kind != "dumb" || ok && movesCursor(f, kind)
}

// Paint returns text in a color, if standard output may have colors.
func (p *Printer) Paint(c Color, text string) string {
	if !p.colors.out {
		return text
	}
	return c.paint(text)
}

// mark paints the mark at the beginning of an error or a warning, if standard error may have colors.
func (p *Printer) mark(line string) string {
	rest, marked := strings.CutPrefix(line, string(Warning))
	if !marked || !p.colors.err {
		return line
	}
	color := Red
	if strings.HasPrefix(rest, "warning: ") {
		color = Yellow
	}
	return color.paint("ftpfetch:") + " " + rest
}
