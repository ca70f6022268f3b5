// Package lazy makes values when they are first used.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles a regular expression when it is first used. There are dozens of them, which take milliseconds, and a run
// needs few.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
