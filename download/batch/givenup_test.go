package batch_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/testserver"
)

// TestServerGivenUp checks that a server is given up after three files in a row for which it did nothing, and that replies
// about single files give up none.
func TestServerGivenUp(t *testing.T) {
	const files = 30
	begin := testserver.Reply("150 Yes.")
	refuseTwoOfThree := func() testserver.Action {
		n := 0
		return func(c *testserver.Conn) error {
			if n++; n%3 != 0 {
				return testserver.End(testserver.Stalled)(c)
			}
			return testserver.Transfer("contents")(c)
		}
	}
	for name, tt := range map[string]struct {
		step  testserver.Step
		tree  bool
		tried int // files
	}{
		"no reply":               {testserver.On("RETR", testserver.End(testserver.Stalled)), false, 3},
		"no data":                {testserver.On("RETR", begin, ftptest.AcceptData(), testserver.End(testserver.Stalled)), false, 3},
		"half the data":          {testserver.On("RETR", begin, testserver.Data("half"), testserver.End(testserver.Stalled)), false, 3},
		"no final reply":         {testserver.On("RETR", begin, testserver.Data("contents", testserver.Closed), testserver.End(testserver.Stalled)), false, 3},
		"closed":                 {testserver.On("RETR", testserver.End(testserver.Closed)), false, 3},
		"421":                    {testserver.On("RETR", testserver.Reply("421 Timeout."), testserver.End(testserver.Closed)), false, 3},
		"no data port":           {both(testserver.On("EPSV", testserver.Reply("229 (|||1|)")), testserver.On("PASV", testserver.Reply("227 (127,0,0,1,0,1)"))), false, 3},
		"425":                    {testserver.On("RETR", testserver.Reply("425 Can't open data connection.")), false, 3},
		"no reply to SIZE":       {testserver.On("SIZE", testserver.End(testserver.Stalled)), false, 3},
		"no reply to CWD":        {testserver.On("CWD", testserver.End(testserver.Stalled)), false, 3},
		"no login":               {testserver.On("PASS", testserver.Reply("530 No.")), false, 3},
		"listings without reply": {testserver.On("MLSD", testserver.End(testserver.Stalled)), true, 3},
		"refused":                {testserver.On("RETR", testserver.Reply("550 No.")), false, files},
		"busy":                   {testserver.On("RETR", testserver.Reply("450 Busy.")), false, files},
		"cut short":              {testserver.On("RETR", begin, testserver.Data("half", testserver.Closed), testserver.Reply("426 No.")), false, files},
		"no reply, now and then": {testserver.On("RETR", refuseTwoOfThree()), false, files},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := ftptest.NewNetwork()
				srv := network.NewScript(t, testserver.Honest("contents"), tt.step)
				s := newClientStand(t)
				s.client.Dial = network.Dial
				s.options = batch.Options{Jobs: 1, Each: download.Options{Retries: -1}}
				var tasks []batch.Task
				for i := range files {
					task := batch.Task{Item: manifest.Item{Path: fmt.Sprint(i)}}
					task.URLs = append(task.URLs, parse(t, srv.URL(fmt.Sprintf("/d/%d", i))))
					if tt.tree {
						task.Tree = &batch.Tree{}
					}
					tasks = append(tasks, task)
				}
				s.run(t.Context(), tasks...)
				tried := 0
				for _, o := range s.outcomes {
					if _, givenUp := errors.AsType[*schedule.GivenUp](o.Err); !givenUp {
						tried++
					}
				}
				if tried != tt.tried || len(s.outcomes) != files {
					t.Errorf("%d of %d files were tried, want %d: %s", tried, len(s.outcomes), tt.tried, s.failures()[0])
				}
			})
		})
	}
}
