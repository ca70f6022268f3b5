package ftpexec

import "strings"

// OptionError is an option, or several that contradict each other, of a [Client] or of package download.
type OptionError struct {
	Fields []string // their names; "Network: tcp4" is a field with the value that it must not have
	Reason string   // what to write instead
}

// Error returns one line.
func (e *OptionError) Error() string { return strings.Join(e.Fields, " and ") + " " + e.Reason }

// Contradiction is the error for two fields of which one must go.
func Contradiction(a, b string) error {
	return &OptionError{[]string{a, b}, "contradict each other: leave one out"}
}

// Check returns an *[OptionError] where the fields of c cannot be followed. Every retrieval begins with it.
func (c *Client) Check() error {
	switch {
	case c.LocalAddr.Is4() && c.Network == "tcp6", c.LocalAddr.Is6() && c.Network == "tcp4":
		return Contradiction("LocalAddr", "Network: "+c.Network)
	case c.Network != "" && c.Network != "tcp" && c.Network != "tcp4" && c.Network != "tcp6":
		return &OptionError{[]string{"Network"}, "is none of tcp, tcp4 and tcp6"}
	case c.LeastRate < 0:
		return &OptionError{[]string{"LeastRate"}, "is negative: write octets a second, or 0 for any"}
	}
	return nil
}
