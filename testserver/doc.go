// Package testserver provides FTP servers for testing FTP clients. They listen on a free loopback port, record exactly
// what they receive, and leave no goroutine running once they are closed.
//
//	func TestMotd(t *testing.T) {
//		srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/motd": "hello"}})
//		got, err := Fetch(srv.URL("/pub/motd")) // the code under test
//		if got != "hello" || err != nil {
//			t.Errorf("got %q, %v", got, err)
//		}
//		if dirs := srv.Args("CWD"); !slices.Equal(dirs, []string{"pub"}) {
//			t.Errorf("CWD %q", dirs)
//		}
//	}
//
// What the client has done is in [Server.Commands], [Server.Args], [Server.Transcript] (with the replies, for a golden
// file), [Server.Connections], [Server.OpenConnections], [Server.AfterQuit] and [Server.Flights], which counts round
// trips.
//
// [New] and [Start] start an honest server, which [Options] describes. Options.Fault makes it fail at chosen points.
// With steps, the server plays a script and sends what no honest server would. A script is usually [Honest] with one
// change:
//
//	srv := testserver.New(t, nil, testserver.Honest("contents").With("RETR", testserver.Reply("426 Broken")))
package testserver
