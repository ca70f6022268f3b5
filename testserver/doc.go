// Package testserver provides FTP servers for testing FTP clients. They listen on a free loopback port, record exactly
// what they receive, and leave no goroutine running once they are closed.
//
//	srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/motd": "hello"}})
//	got := download(t, srv.URL("/pub/motd")) // of your program
//	sent := srv.Commands()                   // USER anonymous, PASS ..., CWD pub, ...
//	said := srv.Transcript()                 // with the replies, for a golden file
//
// [New] and [Start] start an honest one, which [Options] describes. Options.Fault makes it fail at chosen points. With
// steps the server sends what no honest one would; it plays a script, usually [Honest] with one thing wrong:
//
//	srv := testserver.New(t, nil, testserver.Honest("contents").With("RETR", testserver.Reply("426 Broken")))
package testserver
