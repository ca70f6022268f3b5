// Package guard keeps a panic in a goroutine of the library from ending the program, because the program cannot recover
// there. A panic in the caller's own goroutine goes to the caller, as usual in Go. The package also has the error for a
// context that has ended.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

// ErrPanic is wrapped by the error for a panic.
var ErrPanic = errors.New("internal error, please report it")

// Do calls f and returns its error. If f panics, Do returns an error of one line, with the place of the panic.
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
