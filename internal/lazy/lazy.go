// Package lazy computes values when they are first used.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp compiles a regular expression when it is first used. To compile the dozens in this program takes milliseconds,
// and a run needs only a few.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
