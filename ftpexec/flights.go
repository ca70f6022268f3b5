package ftpexec

import (
	"fmt"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// flights says which commands of the run travel together. Replies come in the order of the commands, so a
// command whose argument does not depend on a reply need not wait for it. It does wait
//   - behind USER, where a real password follows: it is not handed out before the server asks for it (331);
//   - behind FEAT, where OPTS depends on it;
//   - around EPSV in clear: firewalls that track connections look for its reply only at the start of a packet;
//   - behind REST: where it is refused, RETR would bring the whole file;
//   - before RETR and NLST: a refused CWD must not lead to another directory's file.
//
// SIZE and MDTM inform; they go along with what there is.
func (s *Session) flights(fresh bool, way []string, h habits) [][]string {
	var b flightPlan
	if fresh {
		s.loginFlights(&b)
	}
	for _, dir := range way {
		b.add("CWD " + dir)
	}
	if t := s.plan.find("TYPE"); t.Arg != s.typ {
		b.add(t.Line())
	}
	early := len(b.now) > 0 || s.goal.factsOnly
	if early {
		b.addAll(s.plan.Facts)
	}
	if s.goal.factsOnly {
		b.leave()
		return b.flights
	}
	s.setUp(&b, h)
	if !early {
		b.addAll(s.plan.Facts)
	}
	if s.goal.offset > 0 {
		b.add(fmt.Sprintf("REST %d", s.goal.offset))
		b.leave()
	}
	b.add(s.plan.final().Line())
	b.leave()
	return b.flights
}

// loginFlights ends with what may still have company.
func (s *Session) loginFlights(b *flightPlan) {
	if s.plan.TLS != TLSOff || s.client.TryTLS { // taken back where the server has no TLS
		b.add("PBSZ 0")
		b.add("PROT P")
	}
	b.add(s.plan.find("USER").Line())
	pass := s.plan.find("PASS")
	if pass.Password != PasswordAnonymous {
		b.leave()
	}
	b.add("PASS " + wire.Placeholder)
	if s.plan.needsUTF8() {
		b.add("FEAT")
		b.leave()
		b.add("OPTS UTF8 ON")
	}
	if !s.once {
		b.add("PWD")
	}
}

// setUp places EPSV. Under TLS no firewall reads along.
func (s *Session) setUp(b *flightPlan, h habits) {
	verb := "EPSV"
	switch {
	case s.client.Active:
		b.leave()
		return
	case h.noEPSV:
		verb = "PASV"
	}
	if s.plan.TLS == TLSOff {
		b.leave()
	}
	b.add(verb)
	b.leave()
}

// flightPlan gathers commands into flights.
type flightPlan struct {
	flights [][]string
	now     []string
}

func (b *flightPlan) add(line string) { b.now = append(b.now, line) }

func (b *flightPlan) addAll(cs []Command) {
	for _, c := range cs {
		b.add(c.Line())
	}
}

// leave ends the flight.
func (b *flightPlan) leave() {
	if len(b.now) > 0 {
		b.flights, b.now = append(b.flights, b.now), nil
	}
}
