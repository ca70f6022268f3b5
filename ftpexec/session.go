package ftpexec

import (
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// session is what one call of a Client's methods has to itself: a connection to a server, or leave to open one. It keeps
// the connection for the next URL if RFC 1738 section 3.2.5 allows that: the host, protection and login are the same, and
// the working directory is known. If the CWDs of the next URL begin with those already sent, it sends the rest. Otherwise
// it first returns to the directory that PWD named after the login. If that fails, it dials again.
type session struct {
	client *Client
	host   *server     // of the Client's pool, which takes the session back
	once   bool        // for one URL only: it sends nothing for the sake of a second one
	end    *time.Timer // closes it while it is idle
	link
}

// link is a connection and what is known about its server.
type link struct {
	conn     *wire.Conn // nil if there is none
	library  *library
	login    *urlparse.URL // the URL that the connection was made for
	utf8     bool          // FEAT was sent at login
	oneByOne bool          // the greeting is that of a server that loses commands sent ahead
	features *wire.Reply   // to FEAT; nil if it was not sent
	admitted bool          // the login needs no PASS any more
	spent    bool          // not for another URL: not logged in, or an offset of REST may be pending
	place                  // the working directory
	typ      string        // the argument of the last TYPE; "" if none was sent
	noEPSV   bool          // EPSV was refused here, or its ports cannot be reached
	advance  string        // the EPSV or PASV that was sent at the end of the last transfer and is not answered; "" if none
	port     int           // of the next data connection; 0 if not known
	spurned  int           // the port of one that a refused transfer has left behind; 0 if there is none
	listens  int           // active mode: the port that EPRT or PORT names
}

// dial replaces the connection by one for u.
func (s *session) dial(u *urlparse.URL, noEPSV bool) {
	s.close()
	s.link = link{conn: wire.New(s.client.config(u)), login: u, utf8: needsUTF8(u), spent: true, noEPSV: noEPSV}
}

// close sends QUIT if the connection is in order, and closes it.
func (s *session) close() {
	switch {
	case s.conn == nil:
		return
	case s.conn.Err() == nil:
		s.conn.Quit()
	}
	if s.admitted {
		s.client.mu.Lock()
		defer s.client.mu.Unlock()
		s.host.shut = time.Now()
	}
}

// serves reports whether the plan of u can run on the connection.
func (l *link) serves(u *urlparse.URL) bool {
	return l.usable() && l.login.SameLogin(u) && (l.utf8 == needsUTF8(u) || l.utf8 && isASCII(u)) && l.reaches(u.Dirs)
}

// usable reports whether the connection may serve another URL.
func (l *link) usable() bool { return l.conn != nil && l.conn.Err() == nil && !l.spent }

// setUp returns the commands that set up a data connection. The second is for servers that refuse the first.
func (s *session) setUp() []string {
	verbs := []string{"EPSV", "PASV"}
	if s.client.Active {
		verbs = []string{"EPRT", "PORT"}
	}
	switch {
	case !s.conn.IPv4():
		return verbs[:1] // the others do not support IPv6
	case s.noEPSV && !s.client.Active:
		return verbs[1:]
	}
	return verbs
}

// oneAtATime are parts of the greetings of servers that lose commands sent ahead.
var oneAtATime = []string{"icrosoft FTP Service", "MadGoat", "MikroTik"}

// connect opens the connection and gives it to jlaffaye/ftp.
func (r *run) connect(sequential bool) error {
	greeting, err := r.conn.Connect()
	if err == nil {
		r.oneByOne = slices.ContainsFunc(oneAtATime, func(name string) bool { return strings.Contains(greeting.Raw(), name) })
		if r.oneByOne && !sequential {
			r.conn.Note("this kind of server needs one command at a time")
		}
		r.library, err = newLibrary(r)
	}
	if err != nil {
		return r.failure(step{Command: Command{Verb: "connect"}}, err)
	}
	return nil
}
