package testserver

import "slices"

// maxLine is the longest command that the library gets. It hangs up without a reply if a line is too long for it.
const maxLine = 4000

// handle does everything that comes before the library: the fault and the commands that the library does not support. It
// reports whether the library must handle the command.
func (f *front) handle(line string) bool {
	if isAuth(line) {
		defer f.resume()
	}
	ex := f.exchange(line)
	if f.answered {
		return false
	}
	if reply := f.ownReply(ex, line, f.Arg); reply != "" {
		f.answer(ex, withCRLF(reply))
		if ex.startTLS && ex.final == nil {
			f.startTLS(f.srv.controlTLS)
		}
		return false
	}
	return f.deliver(ex)
}

// exchange begins a command, and does what the fault says.
func (f *front) exchange(line string) *exchange {
	f.begin(line)
	if fault := f.srv.opts.Fault; fault != nil {
		_ = f.act([]Action{fault(f.Conn)})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return &exchange{Conn: *f.Conn}
}

// deliver leaves ex to the library. The library does not tell WrapPassiveListener whose listener it passes, so the lock
// lets only one connection at a time open one.
func (f *front) deliver(ex *exchange) bool {
	if ex.Verb == "EPSV" || ex.Verb == "PASV" {
		f.srv.passive.Lock()
		f.srv.passiveFor = f
		ex.passive = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exchanges = append(f.exchanges, ex)
	return true
}

// ownReply returns the reply to a command that the library does not support, or does not answer as servers do. It returns
// "" for all other commands.
func (f *front) ownReply(ex *exchange, line, arg string) string {
	if len(line) > maxLine {
		return "500 Line too long."
	}
	switch ex.Verb {
	case "AUTH":
		return f.auth(ex, arg)
	case "PBSZ", "PROT":
		return f.protect(ex.Verb, arg)
	case "USER":
		return f.user(ex, arg)
	case "PASS":
		return f.pass(arg)
	}
	switch {
	case ex.Verb == "PASV" && f.srv.tcp.IP.To4() == nil:
		return "425 PASV needs IPv4, use EPSV."
	case isTransfer(ex.Verb) && f.srv.opts.Scheme == "ftpes" && !f.private:
		return "521 Data connections need PROT P."
	}
	return ""
}

// isTransfer reports whether verb uses a data connection.
func isTransfer(verb string) bool {
	return slices.Contains([]string{"RETR", "NLST", "LIST", "MLSD", "STOR", "APPE"}, verb)
}

// auth answers AUTH, and starts TLS after its reply (RFC 4217 section 4).
func (f *front) auth(ex *exchange, mechanism string) string {
	mechanism, _ = splitCommand(mechanism)
	switch {
	case f.srv.controlTLS == nil || f.srv.opts.Scheme == "ftps":
		return "502 AUTH not implemented."
	case f.overTLS():
		return "503 Already protected."
	case mechanism != "TLS" && mechanism != "TLS-C" && mechanism != "SSL":
		return "504 Unknown mechanism."
	}
	ex.startTLS = true
	return "234 Proceed with the TLS handshake."
}

// protect refuses PBSZ and PROT before AUTH (RFC 4217 section 9).
func (f *front) protect(verb, arg string) string {
	if !f.overTLS() {
		return "503 AUTH TLS comes first."
	}
	if verb == "PROT" {
		f.private = arg == "P"
	}
	return ""
}

// user logs in users without a password. The library has such users only under TLS, so the front drops its 331 and injects
// a PASS.
func (f *front) user(ex *exchange, name string) string {
	if f.srv.opts.Scheme == "ftpes" && !f.overTLS() {
		return "530 Use AUTH TLS first."
	}
	f.name, f.named = name, true
	ex.hidden = f.srv.opensWithoutPassword(name)
	return ""
}

// pass refuses bad logins itself, because the library would hang up.
func (f *front) pass(password string) string {
	switch {
	case !f.named:
		return "503 USER comes first."
	case !f.srv.admits(f.name, password):
		return "530 Login incorrect."
	}
	return ""
}
