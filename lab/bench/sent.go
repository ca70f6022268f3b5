package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/ftpfetch/testserver"
)

// trial is one program at work on one URL.
type trial struct {
	sender *sender
	url    string
	fault  func(*testserver.Conn) testserver.Action
	said   dialogue
	code   int
	whole  bool // the whole file is there
}

// cell is what the tables say about the trial.
func (t *trial) cell() string { return t.said.cell(t.url == addressURL) }

// exit is the exit code, in bold if it is 0 and the whole file is not there.
func (t *trial) exit() string {
	if t.code == 0 && !t.whole {
		return "**0**"
	}
	return fmt.Sprint(t.code)
}

// sentRow is what one program did.
type sentRow struct {
	*sender
	version          string
	trials           []*trial // in the order of tellings
	plain, gone, cut *trial   // a plain URL; the same of a file that is not there; of a file that ends early, with 426
}

const (
	plainURL = "ftp://HOST/etc/motd"
	goneURL  = "ftp://HOST/etc/gone"
)

// sent gives each program the URLs, and writes what it sends.
func sent(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	c, err := b.newCell()
	if err != nil {
		return err
	}
	rows, all, err := b.sentRows()
	if err != nil {
		return err
	}
	if err := c.runAll(ctx, all); err != nil {
		return err
	}
	writeSent(w, rows)
	if right := rows[0].right(); right != countable() {
		return fmt.Errorf("ftpfetch sends for %d of %d URLs what RFC 1738 says", right, countable())
	}
	return nil
}

// sentRows returns the rows and all their trials.
func (b *bench) sentRows() (rows []*sentRow, all []*trial, err error) {
	var versions map[string]string
	if !b.short {
		if versions, err = senderVersions(); err != nil {
			return nil, nil, err
		}
	}
	add := func(s *sender, url string, fault func(*testserver.Conn) testserver.Action) *trial {
		all = append(all, &trial{sender: s, url: url, fault: fault})
		return all[len(all)-1]
	}
	for i := range senders {
		s := &senders[i]
		if b.short && s.name != ours && s.name != "curl" {
			continue
		}
		row := &sentRow{sender: s, version: s.from}
		if known := versions[s.from]; known != "" {
			row.version = s.from + " " + known
		}
		for _, t := range slices.Concat(tellings...) {
			row.trials = append(row.trials, add(s, t.url, askPassword))
		}
		row.plain, row.gone, row.cut = add(s, plainURL, nil), add(s, goneURL, nil), add(s, plainURL, cutShort)
		rows = append(rows, row)
	}
	return rows, all, nil
}

// askPassword asks the user me for a password, but goes on without one.
func askPassword(c *testserver.Conn) testserver.Action {
	if c.Verb == "USER" && c.Arg == "me" {
		return testserver.ReplaceReply(testserver.Reply("331 Password, please."))
	}
	return nil
}

// cutShort ends each transfer of a file after two bytes, with 426.
func cutShort(c *testserver.Conn) testserver.Action {
	if c.Verb != "RETR" {
		return nil
	}
	return testserver.Sequence(testserver.EndDataAfter(2, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 Transfer aborted.")))
}

// right counts the URLs for which the program sends what RFC 1738 says.
func (r *sentRow) right() (n int) {
	for i, t := range slices.Concat(tellings...) {
		if slices.Contains(t.want, r.trials[i].cell()) {
			n++
		}
	}
	return n
}

// countable counts the URLs of which RFC 1738 says what is sent.
func countable() (n int) {
	for _, t := range slices.Concat(tellings...) {
		if t.want != nil {
			n++
		}
	}
	return n
}

// silent reports whether the program sends nothing for any URL.
func (r *sentRow) silent() bool {
	return !slices.ContainsFunc(append(r.trials, r.plain), func(t *trial) bool { return len(t.said) > 0 })
}

// writeSent writes the tables.
func writeSent(w io.Writer, rows []*sentRow) {
	var silent []string
	rows = slices.DeleteFunc(rows, func(r *sentRow) bool {
		if r.silent() {
			silent = append(silent, fmt.Sprintf("%s (%s), exit code %d", r.name, r.version, r.plain.code))
		}
		return r.silent()
	})
	first := 0
	for _, columns := range tellings {
		writeColumns(w, rows, columns, first)
		first += len(columns)
	}
	writeAround(w, rows)
	if len(silent) > 0 {
		fmt.Fprintf(w, "\nThese send nothing for any URL: %s.\n", strings.Join(silent, "; "))
	}
}

// writeColumns writes one table: the columns begin with the trial first.
func writeColumns(w io.Writer, rows []*sentRow, columns []telling, first int) {
	header, rule, rfc := "| |", "|---|", "| **RFC 1738** |"
	for _, t := range columns {
		header, rule = header+fmt.Sprintf(" `%s` |", strings.Replace(t.url, "HOST", "host", 1)), rule+"---|"
		rfc += " " + spans(t.want...) + " |"
	}
	fmt.Fprintf(w, "\n%s\n%s\n%s\n", header, rule, rfc)
	for _, r := range rows {
		fmt.Fprintf(w, "| %s |", r.name)
		for i, t := range columns {
			cell := r.trials[first+i].cell()
			text := spans(cell)
			if t.want != nil && !slices.Contains(t.want, cell) {
				text += " (" + t.section(cell) + ")"
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
}

// writeAround writes what a program sends in all for a plain URL, and how it ends.
func writeAround(w io.Writer, rows []*sentRow) {
	fmt.Fprintf(w, "\n| | version | as RFC 1738 says | all that it sends for `ftp://host/etc/motd` | exit code | of a missing file | of half a file and 426 |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		version := r.version
		if r.name == ours {
			version = "this one"
		}
		fmt.Fprintf(w, "| %s | %s | %d of %d | %s | %s | %s | %s |\n", r.name, version, r.right(), countable(),
			spans(r.plain.said.whole()), r.plain.exit(), r.gone.exit(), r.cut.exit())
	}
}

// spans writes alternatives as a table's cell.
func spans(alternatives ...string) string {
	var all []string
	for _, text := range alternatives {
		switch text {
		case "":
			all = append(all, "nothing")
		default:
			all = append(all, "`"+strings.ReplaceAll(text, "|", `\|`)+"`")
		}
	}
	if all == nil {
		return "says nothing"
	}
	return strings.Join(all, " or ")
}
