// Package testserver provides FTP servers for testing FTP clients. They listen on a free loopback port, record exactly
// what they receive, and leave no goroutine running once they are closed.
//
//	srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/motd": "hello"}})
//	got := download(t, srv.URL("/pub/motd")) // the code under test
//	sent := srv.Commands()                   // USER anonymous, PASS ..., CWD pub, ...
//	said := srv.Transcript()                 // with the replies, for a golden file
//
// [New] and [Start] start an honest server, which [Options] describes. Options.Fault makes it fail at chosen points.
// With steps, the server plays a script and sends what no honest server would. A script is usually [Honest] with one
// change:
//
//	srv := testserver.New(t, nil, testserver.Honest("contents").With("RETR", testserver.Reply("426 Broken")))
package testserver
