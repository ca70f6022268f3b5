// Package pattern has regular expressions that are compiled when they are first used. A program that compiles dozens of
// them when it starts, and needs few, takes a millisecond longer for that.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression, with methods of [regexp.Regexp]. The first call panics if the expression is wrong.
// It is safe for concurrent use.
type Pattern struct{ compiled func() *regexp.Regexp }

// New returns a Pattern for text without compiling it.
func New(text string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (p *Pattern) MatchString(s string) bool            { return p.compiled().MatchString(s) }
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }

func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}

func (p *Pattern) ReplaceAllString(s, with string) string {
	return p.compiled().ReplaceAllString(s, with)
}
