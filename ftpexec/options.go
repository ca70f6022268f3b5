package ftpexec

import "strings"

// OptionError describes a field of a [Client] or of download.Options that has a bad value, or fields that contradict
// each other.
type OptionError struct {
	Fields []string // the names of the fields; "Existing: Skip" also tells the value
	Reason string   // what is wrong with them, and what to write instead
}

// Error returns one line, such as "MinRate is negative: write bytes per second, or 0 for no limit".
func (e *OptionError) Error() string { return strings.Join(e.Fields, " and ") + " " + e.Reason }

// Check returns an *[OptionError] if a field of c has a bad value or two contradict each other. Every retrieval calls
// Check first.
func (c *Client) Check() error {
	switch {
	case c.MinRate.Bytes < 0:
		return &OptionError{[]string{"MinRate"}, "is negative: write bytes per second, or 0 for no limit"}
	case c.MaxConns < 0:
		return &OptionError{[]string{"MaxConns"}, "is negative: write a number of connections, or 0 for no limit"}
	case c.IdleTimeout < 0:
		return &OptionError{[]string{"IdleTimeout"}, "is negative: write 0 for the default"}
	}
	return nil
}
