package ftptest

import (
	"strconv"
	"strings"

	"example.com/ftpfetch/testserver"
)

// Restarts is [testserver.Honest] with REST. begin returns where in contents RETR begins if REST has asked for asked; nil
// means there.
func Restarts(contents string, begin func(asked int) int) testserver.Step {
	return func(d *testserver.Dialogue) {
		asked := 0
		testserver.Honest(contents).With("REST", func(c *testserver.Conn) error {
			asked, _ = strconv.Atoi(strings.TrimSpace(c.Arg))
			return testserver.Reply("350 Go on.")(c)
		}).With("RETR", func(c *testserver.Conn) error {
			at := asked
			if asked > 0 && begin != nil {
				at = begin(asked)
			}
			asked = 0
			return testserver.Transfer(contents[min(max(0, at), len(contents)):])(c)
		})(d)
	}
}

// IgnoresREST is the begin of a server that sends every file from its first byte.
func IgnoresREST(int) int { return 0 }
