//go:build interop

package interop

import (
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/ftpexec"
)

// code says "yes" if the last command gets a positive reply, and otherwise its code.
func (p *probe) code(commands ...string) string {
	c := p.session(p.plain)
	var a answer
	for _, command := range commands {
		a = c.ask(command)
	}
	if a.ok() {
		return "yes"
	}
	return p.no(a)
}

func (p *probe) no(a answer) string {
	if a.code == 0 {
		return a.text
	}
	return fmt.Sprint("no: ", a.code)
}

// lists says whether a listing has a line that ends in name.
func (p *probe) lists(command, name string) string {
	return p.hasName(p.session(p.plain), command, name)
}

// listsIn is lists in the directory probe/listing.
func (p *probe) listsIn(command, name string) string {
	c := p.session(p.plain)
	c.ask("CWD probe/listing")
	return p.hasName(c, command, name)
}

func (p *probe) hasName(c *control, command, name string) string {
	got, a := c.transfer(command)
	switch ends := func(line string) bool {
		return line == name || strings.HasSuffix(line, " "+name) || strings.HasSuffix(line, "/"+name)
	}; {
	case !a.ok():
		return p.no(a)
	case slices.ContainsFunc(strings.FieldsFunc(got, func(r rune) bool { return r == '\r' || r == '\n' }), ends):
		return "yes"
	}
	return "no"
}

// nlstArgument says which names NLST gives for another directory.
func (p *probe) nlstArgument() string {
	got, a := p.session(p.plain).transfer("NLST probe/listing/dir")
	switch got = strings.TrimSpace(got); {
	case !a.ok():
		return p.no(a)
	case strings.Contains(got, "listing/dir/inside"):
		return "paths"
	case strings.Contains(got, "inside"):
		return "names"
	}
	return fmt.Sprintf("%q", got)
}

// empty says how an empty listing of a directory comes.
func (p *probe) empty(dir string) string {
	got, a := p.session(p.plain).transfer("NLST " + dir)
	if a.ok() && got != "" {
		return fmt.Sprintf("`%s`", strings.Join(strings.Fields(got), " "))
	}
	if a.code == 0 {
		return a.text
	}
	return fmt.Sprint(a.code)
}

// entry returns an entry of probe/listing as ftpfetch reads it.
func (p *probe) entry(name string) (ftpexec.Entry, string) {
	entries, lines, err := entriesOf(p.context(), p.client(), p.plain.URL("/probe/listing/"))
	if err != nil || len(lines) > 0 {
		return ftpexec.Entry{}, "not read"
	}
	e, ok := entries[name]
	if !ok {
		return e, "not listed"
	}
	return e, ""
}

func (p *probe) link() string {
	e, problem := p.entry("link")
	if problem != "" {
		return problem
	}
	kind, _, _ := strings.Cut(describe(e), " of ")
	return strings.TrimSuffix(kind, " to ") // proftpd tells no target
}

func (p *probe) precision() string {
	e, problem := p.entry("plain")
	switch {
	case problem != "":
		return problem
	case e.ModTime.IsZero():
		return none
	}
	return fmt.Sprintf("%s, %s", strings.TrimSuffix(strings.TrimSuffix(e.Precision.String(), "0s"), "0m"), map[bool]string{true: "local", false: "UTC"}[e.Local])
}

// octets returns the octets for which the file at the pattern cannot be retrieved.
func (p *probe) octets(pattern string) string {
	c := p.client()
	c.MaxIdle = 1
	defer c.CloseIdleConnections()
	var missing []string
	for _, name := range octets() {
		path := strings.ReplaceAll(Escape(fmt.Sprintf("probe/"+pattern, name)), "%2F", "/")
		got, err := p.retrieve(c, p.plain.URL("/"+path))
		if err != nil || got != name {
			missing = append(missing, name)
		}
	}
	return ranges(missing)
}

func (p *probe) retrieve(c *ftpexec.Client, url string) (string, error) {
	r, err := c.Do(p.context(), &ftpexec.Request{URL: parse(p, url)})
	if err != nil {
		return "", err
	}
	return readAll(r)
}

// unlistedOctets returns the octets whose file is not in the listing.
func (p *probe) unlistedOctets() string {
	c := p.client()
	c.Timeout = hangTimeout
	entries, _, err := entriesOf(p.context(), c, p.plain.URL("/probe/octets/"))
	if err != nil {
		return "no listing"
	}
	return ranges(slices.DeleteFunc(octets(), func(name string) bool {
		e, ok := entries[name]
		return ok && e.Mode.IsRegular()
	}))
}

// ranges names octets in hexadecimal, "-" for none.
func ranges(names []string) string {
	var parts []string
	for i := 0; i < len(names); {
		first, last := names[i][0], names[i][0]
		for i++; i < len(names) && names[i][0] == last+1; i++ {
			last++
		}
		if part := fmt.Sprintf("%02X", first); first == last {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s-%02X", part, last))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " ")
}
