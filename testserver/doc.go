// Package testserver has two FTP servers for tests of FTP clients. Both listen
// on a free loopback port, record what they receive octet for octet, and leave
// no goroutine behind when they are closed.
//
// [Server] is an honest one, github.com/fclairamb/ftpserverlib over an
// afero.Fs: anonymous and named users, users without a password, start
// directories, explicit and implicit TLS with a throwaway authority, IPv6.
//
//	func TestDownload(t *testing.T) {
//		srv := testserver.New(t, &testserver.Options{
//			Tree:  map[string]string{"/pub/motd": "hello"},
//			Users: map[string]string{"me": "secret"},
//		})
//		got := download(t, srv.URLAs("me:secret", "/pub/motd"))
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
// It serves names octet for octet; no name can hold "/". "CWD /etc" is an
// absolute path, "CWD " with a null argument succeeds and changes nothing,
// "-l" is a name. Options.Fault makes it fail in chosen places:
//
//	Fault: func(p testserver.FaultPoint) testserver.Fault {
//		switch {
//		case p.Transfer == 1: // the first transfer ends early, with a lying 226
//			return testserver.Fault{Data: testserver.Closed, Octets: 1000}
//		case p.Verb == "SIZE":
//			return testserver.Fault{Final: "213 5"}
//		case p.Verb == "EPSV":
//			return testserver.Fault{Reply: "500 What?"}
//		}
//		return testserver.Fault{}
//	},
//
// [Script] is for what no honest server sends. It plays a dialogue from a
// table, mostly [Honest] with something wrong in one place:
//
//	srv := testserver.NewScript(t,
//		testserver.Honest("contents").With("RETR", testserver.Reply("426 Broken\r\n226 Fine")),
//		testserver.OnConn(2, testserver.Greet(testserver.ResetConn())),
//	)
//
// [Network] takes the sockets away: a Script on it and its client meet in
// memory, and in a bubble of testing/synctest every wait of either costs no
// time and ends at its exact moment.
//
// # Flights and round trips
//
// A flight is all that arrives from the client between two sends of the
// server, on a control connection, counted below TLS. Octets that had arrived
// when the server sends start no new flight. Commands that a client writes one
// by one without waiting may still be split by a reply that the server sends
// in between; a client that means one flight writes it at once.
//
// A download in clear on a new connection takes, to its last octet,
//
//	1 (TCP) + 1 (greeting) + Flights + 1 (data connection)
//
// round trips where the client connects for data while its RETR is under way,
// and Flights is read before QUIT is sent. The flights of a TLS handshake on
// the control connection are among Flights. On a protected data connection
// the last term is DataFlights of [Stats]: 2 for a TLS 1.3 handshake. Without
// a greeting to wait for, the next file on the same connection takes
// Flights + 1, Flights counted from ResetCommands.
//
// # Limits
//
// Passive ports of [Server] are opened by the library on all interfaces; it
// takes only connections from the control connection's address. Active data
// connections work but are neither counted nor subject to faults.
package testserver
