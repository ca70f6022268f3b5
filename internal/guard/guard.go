// Package guard keeps a panic in a goroutine of the library from ending the program that the library is part of: nobody else
// can recover there. A panic in the caller's own goroutine goes to the caller, as everywhere in Go. It also has the error for
// a context that has ended.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// ErrPanic is wrapped by the error for a panic.
var ErrPanic = errors.New("internal error, please report it")

// Do calls f and returns its error, or its panic as an error in one line, with the place where it was.
func Do(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			_, frames, _ := strings.Cut(string(debug.Stack()), "\npanic(")
			lines := strings.Split(frames, "\n")
			place := strings.TrimSpace(lines[min(3, len(lines)-1)])
			err = fmt.Errorf("%w: %v (%s)", ErrPanic, value, place)
		}
	}()
	return f()
}
