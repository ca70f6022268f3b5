package ftpexec

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// Stat is [Client.Stat] on the session.
func (s *session) Stat(ctx context.Context, u *urlparse.URL) (e Entry, err error) {
	if u.IsDir() {
		if e, err = s.look(ctx, u); e.Mode.IsDir() {
			e.URL = u
		}
		return e, err
	}
	for e, err = range s.StatAll(ctx, []*urlparse.URL{u}) {
	}
	return e, err
}

// untold returns the entry for u before the server has told anything.
func untold(u *urlparse.URL) Entry {
	return Entry{Name: u.Name, Base: u.Name, URL: u, Mode: fs.ModeIrregular, Size: -1}
}

// learn takes the value from a reply to SIZE or MDTM.
func (e *Entry) learn(verb string, r wire.Reply) {
	if n, ok := sizeIn(r); ok && verb == "SIZE" {
		e.Size, e.Mode = n, 0
	}
	if t, ok := timeIn(r); ok && verb == "MDTM" {
		e.ModTime, e.Precision = t, time.Second
	}
}

// announced finds the size in the preliminary reply to RETR, which most servers word "... file (1234 bytes)".
var announced = lazy(`\((\d{1,18}) bytes\)`)

// opened takes the size from r, the first reply to RETR, if SIZE has not told it. With an offset the number may be that
// of the rest of the file, so it does not count.
func (e *Entry) opened(r *Reply, offset int64) {
	if e.Size >= 0 || offset > 0 {
		return
	}
	if m := announced().FindAllStringSubmatch(r.words(), -1); m != nil {
		e.Size, _ = strconv.ParseInt(m[len(m)-1][1], 10, 64)
	}
}

// hashCommand says which commands ask for a digest. They count if FEAT lists them.
type hashCommand struct {
	length int      // of the digest in bytes
	hash   string   // the algorithm's name for HASH (draft-bryan-ftpext-hash)
	verbs  []string // commands for this algorithm alone, in the order of preference
}

var hashCommands = map[string]hashCommand{
	"sha512": {64, "SHA-512", []string{"XSHA512"}},
	"sha256": {32, "SHA-256", []string{"XSHA256"}},
	"sha1":   {20, "SHA-1", []string{"XSHA1", "XSHA"}},
	"md5":    {16, "MD5", []string{"XMD5", "MD5"}},
	"crc32":  {4, "CRC32", []string{"XCRC"}},
}

// Hash asks the server for a digest of the file that u names, by HASH (draft-bryan-ftpext-hash) or a command such as
// XSHA256. algorithm is "sha512", "sha256", "sha1", "md5" or "crc32". The digest is in binary. The error is
// [errors.ErrUnsupported] if the server's FEAT offers no command for the algorithm or the reply contains no digest. A server reads
// the whole file before it replies, so Client.Timeout must be long enough for that.
func (s *session) Hash(ctx context.Context, u *urlparse.URL, algorithm string) (digest []byte, err error) {
	err = s.run(ctx, u, goal{factsOnly: true}, func(func()) (bool, error) {
		err := s.runTo("")
		if err == nil {
			digest, err = s.hash(algorithm)
		}
		return false, err
	})
	return digest, err
}

func (s *session) hash(algorithm string) ([]byte, error) {
	how, ok := hashCommands[algorithm]
	if !ok {
		return nil, &Error{Op: "HASH", URL: s.url.Redacted(), Err: fmt.Errorf("%w: no FTP command computes %q", errNoHash, algorithm)}
	}
	if s.features == nil {
		r, err := s.ask(Command{Verb: "FEAT"})
		if err != nil {
			return nil, err
		}
		s.features = r
	}
	name := s.plan.final().Arg
	op := withArg("HASH", name)
	var ask []Command
	if offered(s.features, "HASH", how.hash) {
		ask = []Command{withArg("OPTS", "HASH "+how.hash), op}
	} else if i := slices.IndexFunc(how.verbs, func(verb string) bool { return offered(s.features, verb, "") }); i >= 0 {
		ask = []Command{withArg(how.verbs[i], name)}
	}
	why := fmt.Errorf("%w: it offers no command for %s", errNoHash, algorithm)
	for _, op = range ask {
		r, err := s.ask(op)
		if err != nil {
			return nil, err
		}
		if d := digestIn(r, how.length, name); d != nil {
			return d, nil
		}
		why = fmt.Errorf("%w: it says %s", errNoHash, cut(r.String())) // not as Error.Reply: 4yz is no reason to ask again
	}
	return nil, &Error{Op: op.shown(), URL: s.url.Redacted(), Err: why}
}

// ask sends a command that is not in the plan, and returns its reply.
func (s *session) ask(op Command) (*wire.Reply, error) {
	r, err := s.conn.Ask(op.Line(), false)
	if err != nil {
		return nil, s.failure(op, err)
	}
	return &r, nil
}

// offered reports whether FEAT lists verb, with param among its parameters (RFC 2389 section 3.2).
func offered(features *wire.Reply, verb, param string) bool {
	if features == nil || features.Code/100 != 2 {
		return false
	}
	for line := range strings.SplitSeq(strings.ToUpper(features.Raw()), "\n") {
		// Some servers put the reply's code before every line, or several features on one.
		for feature := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSpace(line), "211-"), ";") {
			words := strings.Fields(strings.ReplaceAll(feature, "*", " "))
			if len(words) > 0 && (words[0] == verb || words[len(words)-1] == verb) && (param == "" || strings.Contains(strings.ToUpper(line), param)) {
				return true
			}
		}
	}
	return false
}

// digestIn returns the only digest of that many bytes in a positive reply, or nil. A word of the file's name, which some
// servers repeat, does not count.
func digestIn(r *wire.Reply, length int, name string) (digest []byte) {
	if r.Code/100 != 2 {
		return nil
	}
	for _, word := range strings.Fields(r.Raw()) {
		d, err := hex.DecodeString(word)
		switch {
		case err != nil || len(d) != length || slices.Contains(strings.Fields(name), word):
		case digest != nil && !bytes.Equal(d, digest):
			return nil
		default:
			digest = d
		}
	}
	return digest
}

// lazy compiles a regular expression when it is first used: dozens of them, of which a run needs few, take milliseconds.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
