package testserver

import "strings"

// session is what the honest server knows about a connection and its user.
type session struct {
	*Conn
	name   string // USER's argument
	named  bool   // USER was given
	inside bool   // the login is complete
	dir    string // the working directory
	ascii  bool
	offset int64 // of REST
}

// honest is the Step of the honest server. It replies to every command.
func (s *Server) honest(d *Dialogue) {
	h := &session{dir: "/", ascii: true}
	On("", Reply("220 testserver ready"))(d)
	On("*", func(c *Conn) error {
		h.Conn = c
		if err := h.answer(h.reply()); err != nil || c.Verb != "QUIT" {
			return err
		}
		return EndControl(Closed)(c)
	})(d)
}

// answer sends the final reply to a command, or runs the actions of [ReplaceReply] in its place.
func (c *Conn) answer(reply string) error {
	if c.final != nil {
		return c.act(c.final)
	}
	_, err := c.Write([]byte(reply + "\r\n"))
	return err
}

// always has the replies to commands that change nothing.
var always = map[string]string{
	"CLNT": "200 Good to know.", "MODE": "200 Done.", "NOOP": "200 Done.", "OPTS": "200 Done.", "STRU": "200 Done.", "QUIT": "221 Goodbye.",
	"SYST": "215 UNIX Type: L8",
	"FEAT": "211-Features:\r\n AUTH TLS\r\n EPRT\r\n EPSV\r\n MDTM\r\n MLST Type*;Size*;Modify*;\r\n PBSZ\r\n PROT\r\n REST STREAM\r\n SIZE\r\n UTF8\r\n211 End",
}

// logins has the commands that need no login, members the commands that need one.
var (
	logins = map[string]func(*session) string{
		"AUTH": (*session).auth, "PASS": (*session).pass, "PBSZ": (*session).protect, "PROT": (*session).protect, "USER": (*session).user,
	}
	members = map[string]func(*session) string{
		"ABOR": func(*session) string { return "226 Nothing is under way." }, "CDUP": (*session).cdup, "CWD": (*session).cwd,
		"PWD":  func(h *session) string { return `257 "` + strings.ReplaceAll(h.dir, `"`, `""`) + `" is the directory.` },
		"EPSV": (*session).epsv, "PASV": (*session).pasv, "EPRT": (*session).eprt, "PORT": (*session).port,
		"TYPE": (*session).setType, "REST": (*session).rest, "SIZE": (*session).size, "MDTM": (*session).mdtm, "MLST": (*session).mlst,
		"RETR": (*session).retr, "NLST": (*session).list, "LIST": (*session).list, "MLSD": (*session).list,
	}
)

// reply handles the command and returns the final reply.
func (h *session) reply() string {
	if text, ok := always[h.Verb]; ok {
		return text
	}
	if do, ok := logins[h.Verb]; ok {
		return do(h)
	}
	do, ok := members[h.Verb]
	switch {
	case !h.inside:
		return "530 USER and PASS come first."
	case !ok:
		return "500 Unknown command."
	case isTransfer(h.Verb) && h.srv.opts.Scheme == "ftpes" && !h.private:
		return "521 Data connections need PROT P."
	}
	return do(h)
}

// auth answers AUTH. TLS starts after its reply (RFC 4217 section 4).
func (h *session) auth() string {
	mechanism, _ := splitCommand(h.Arg)
	switch {
	case h.srv.controlTLS == nil || h.srv.opts.Scheme == "ftps":
		return "502 AUTH not implemented."
	case h.overTLS():
		return "503 Already protected."
	case mechanism != "TLS" && mechanism != "TLS-C" && mechanism != "SSL":
		return "504 Unknown mechanism."
	}
	return "234 Proceed with the TLS handshake."
}

// protect refuses PBSZ and PROT before AUTH (RFC 4217 section 9).
func (h *session) protect() string {
	if !h.overTLS() {
		return "503 AUTH TLS comes first."
	}
	return "200 Done."
}

func (h *session) user() string {
	if h.srv.opts.Scheme == "ftpes" && !h.overTLS() {
		return "530 Use AUTH TLS first."
	}
	h.name, h.named, h.inside = h.Arg, true, false
	if password, known := h.srv.opts.Users[h.name]; known && password == "" {
		return h.enter()
	}
	return "331 Password, please."
}

func (h *session) pass() string {
	want, known := h.srv.opts.Users[h.name]
	anonymous := strings.EqualFold(h.name, "anonymous") || strings.EqualFold(h.name, "ftp")
	switch {
	case !h.named:
		return "503 USER comes first."
	case known && h.Arg != want && want != "", !known && !anonymous:
		return "530 Login incorrect."
	}
	return h.enter()
}

// enter logs the user in.
func (h *session) enter() string {
	h.inside = true
	if home := h.srv.opts.Home[h.name]; home != "" {
		h.dir = home
	}
	return "230 Logged in."
}
