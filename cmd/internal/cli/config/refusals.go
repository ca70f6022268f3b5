package config

import (
	_ "embed"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// refusals is the table of contradictions in a command line, and of what to write instead.
//
//go:embed refusals.txt
var refusals string

// refused returns the texts of the rows of the table that apply.
func (r *reader) refused() (texts []string) {
	facts := r.facts()
	denied := func(words string) bool {
		return !slices.ContainsFunc(strings.Split(words, "|"), func(word string) bool {
			name, not := strings.CutPrefix(word, "!")
			return facts[name] != not
		})
	}
	for row := range strings.SplitSeq(refusals, "\n") {
		says, text, ok := strings.Cut(row, " = ")
		if ok && !slices.ContainsFunc(strings.Fields(says), denied) {
			texts = append(texts, text)
		}
	}
	return texts
}

// facts returns what is true of a command line: the names of its flags, and the other words of the table.
func (r *reader) facts() map[string]bool {
	l := r.line
	secret := func(t Target) bool { return t.Err == nil && hasPassword(t.URL.User) }
	fetched := func(t Target) bool { return t.Err != nil || !t.URL.IsDir() && !l.Long }
	nobody := func(t Target) bool { return t.Err == nil && t.URL.User == nil }
	facts := map[string]bool{
		"URL":         l.Print != "" || len(l.Targets) > 0, // there is something to do
		"URLs":        len(l.Targets) > 1,
		"listings":    len(l.Targets) > 0 && !slices.ContainsFunc(l.Targets, fetched), // nothing but listings
		"known":       len(l.Targets) == 1 && !slices.ContainsFunc(l.Targets, nobody), // the URL names the user
		"many":        l.Many,
		"deletes":     l.Delete,
		"stdout":      l.Output == "-",
		"root":        filepath.IsAbs(l.Output), // -o has an absolute path
		"report-":     l.Report == "-",
		"input-":      l.Input == "-",
		"manifest-":   l.Manifest == "-",
		"remote":      strings.Contains(l.Input+" "+l.Manifest, "://"), // the list is on a server
		"secret":      slices.ContainsFunc(l.Targets, secret),          // a password is in a URL
		"user:secret": hasPassword(l.User),
		"slower":      l.LimitRate != 0 && l.LimitRate < l.Client.MinRate,
		"through":     l.Proxy != nil,
		"get+":        l.ProxyGet,
		"active":      l.Client.Active,
		"try":         l.Client.TryTLS,
	}
	r.all.Visit(func(f *pflag.Flag) { facts[f.Name] = f.Value.String() != "false" })
	return facts
}

func hasPassword(login *url.Userinfo) bool {
	_, ok := login.Password()
	return ok
}
