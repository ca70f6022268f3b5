package ftptest

import (
	"strconv"
	"strings"

	"example.com/ftpfetch/testserver"
)

// Restarts is [testserver.Honest] with REST. begin returns where in contents RETR begins if REST has asked for asked; nil
// means there.
func Restarts(contents string, begin func(asked int64) int64) testserver.Step {
	return func(d *testserver.Dialogue) {
		var asked int64
		testserver.Honest(contents).With("REST", func(c *testserver.Conn) error {
			asked, _ = strconv.ParseInt(strings.TrimSpace(c.Arg), 10, 64)
			return testserver.Reply("350 Go on.")(c)
		}).With("RETR", func(c *testserver.Conn) error {
			at := asked
			if asked > 0 && begin != nil {
				at = begin(asked)
			}
			asked = 0
			return testserver.Transfer(contents[min(max(0, at), int64(len(contents))):])(c)
		})(d)
	}
}

// IgnoresREST is the begin of a server that sends every file from its first byte.
func IgnoresREST(int64) int64 { return 0 }
