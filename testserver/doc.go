// Package testserver provides FTP servers for testing FTP clients. They listen on a free loopback port, record exactly
// what they receive, and leave no goroutine running once they are closed.
//
// [New] and [Start] start an honest one, github.com/fclairamb/ftpserverlib over an afero.Fs. It has anonymous and named
// users, users without a password, start directories, explicit and implicit TLS with a throwaway authority, and IPv6.
//
//	func TestDownload(t *testing.T) {
//		srv := testserver.New(t, &testserver.Options{
//			Tree:  map[string]string{"/pub/motd": "hello"},
//			Users: map[string]string{"me": "secret"},
//		})
//		got := download(t, srv.URL("me:secret@/pub/motd"))
//		if got != "hello" {
//			t.Errorf("got %q", got)
//		}
//		if err := srv.WaitCommand(t.Context(), "QUIT"); err != nil { // the client does not wait for its reply
//			t.Fatal(err)
//		}
//		want := []string{"USER me", "PASS secret", "CWD pub", "TYPE I", "SIZE motd", "MDTM motd", "EPSV", "RETR motd", "QUIT"}
//		if got := srv.Commands(); !slices.Equal(got, want) {
//			t.Errorf("the client sent %q, want %q", got, want)
//		}
//	}
//
// It serves names byte for byte; no name can contain "/". "CWD /etc" takes an absolute path, "CWD " with a null argument
// succeeds and changes nothing, and "-l" is a name. Options.Fault makes it fail at chosen points:
//
//	Fault: func(c *testserver.Conn) testserver.Action {
//		switch {
//		case c.Transfer == 1: // the first transfer ends early, with a lying 226
//			return testserver.Cut(1000, testserver.Closed)
//		case c.Verb == "SIZE":
//			return testserver.Final(testserver.Reply("213 5"))
//		case c.Verb == "EPSV":
//			return testserver.Reply("500 What?")
//		}
//		return nil
//	},
//
// With steps the server sends what no honest one would. It plays a script, usually [Honest] with one thing wrong:
//
//	srv := testserver.New(t, nil,
//		testserver.Honest("contents").With("RETR", testserver.Reply("426 Broken\r\n226 Fine")),
//		testserver.OnConn(2, testserver.On("", testserver.End(testserver.Reset))),
//	)
//
// # Flights and round trips
//
// A flight is everything that arrives from the client on a connection between two sends of the server, counted below TLS.
// Bytes that have already arrived when the server sends do not start a new flight. If a client writes commands one by one
// without waiting, a reply that the server sends in between may still split them; a client that means one flight writes it
// at once.
//
// An unencrypted download on a new connection takes, to its last byte,
//
//	1 (TCP) + 1 (greeting) + flights + 1 (data connection)
//
// round trips, if the client opens the data connection while its RETR is under way and Flights is read before QUIT is
// sent. The flights of the control connection include those of a TLS handshake. On a protected data connection the last
// term is its own flights: 2 for a TLS 1.3 handshake. The next file on the same connection has no greeting to wait for and
// takes flights + 1, counted from ResetCommands.
//
// # Limits
//
// The library opens the passive ports of the honest server on all interfaces, and accepts only connections from the
// control connection's address. Active data connections work, but they are not counted and faults do not affect them.
package testserver
