// Package lazy makes values when they are first used.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles a regular expression when it is first used: there are dozens of them, of which a run needs few, and which take
// milliseconds.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
