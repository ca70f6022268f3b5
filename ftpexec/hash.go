package ftpexec

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/urlparse"
)

// hashCommands has for each algorithm the length of a digest in bytes, the name for HASH (draft-bryan-ftpext-hash), and
// the commands for this algorithm alone, in order of preference. A command counts only if FEAT lists it.
var hashCommands = map[string]string{
	"sha512": "64 SHA-512 XSHA512",
	"sha256": "32 SHA-256 XSHA256",
	"sha1":   "20 SHA-1 XSHA1 XSHA",
	"md5":    "16 MD5 XMD5 MD5",
	"crc32":  "4 CRC32 XCRC",
}

// hashNamed returns what hashCommands has for an algorithm, in any of its usual spellings, or nil.
func hashNamed(algorithm string) []string {
	name := strings.NewReplacer("-", "", "_", "", "/", "").Replace(strings.ToLower(algorithm))
	if size, ok := strings.CutPrefix(name, "sha2"); ok && len(size) == 3 {
		name = "sha" + size
	}
	if how := hashCommands[name]; how != "" {
		return strings.Fields(how)
	}
	return nil
}

// Hash asks the server for a digest of the file that u names, by HASH (draft-bryan-ftpext-hash) or a command such as
// XSHA256. algorithm is "sha512", "sha256", "sha1", "md5" or "crc32", in any case, with or without a hyphen (SHA-256).
// The digest is in binary. The error is [errors.ErrUnsupported] if no FTP command computes a digest of that algorithm,
// the server's FEAT offers none of these commands, or the reply contains no digest. A server reads the whole file
// before it replies: besides Client.Timeout, it has a second for each 10 MiB of the file. If that is not enough, the
// error is an [ErrTimeout] that is not [Retryable], because the server may still be busy with the first request.
func (c *Client) Hash(
	ctx context.Context, u *urlparse.URL, algorithm string,
) (digest []byte, err error) {
	if u != nil && u.IsDir() {
		return nil, about(u, errIsDirectory)
	}
	how := hashNamed(algorithm)
	if u != nil && how == nil {
		err := fmt.Errorf("%w: no FTP command computes %q", errNoHash, cut(algorithm))
		return nil, &Error{Op: "HASH", URL: u.Redacted(), Err: err}
	}
	s, err := c.take(ctx, u)
	if err != nil {
		return nil, err
	}
	defer c.put(s)
	q := &question{url: u, typ: typeOf(u), asks: facts(u)}
	err = s.ask(ctx, q, func(r *run) error {
		if q.gone == nil {
			digest, err = hasher{r}.hash(algorithm, how, q.info.Size)
		}
		return err
	})
	return digest, err
}

// hasher is a run that asks for a digest.
type hasher struct{ *run }

// hashRate is how many bytes a second a server is expected to read at least when it computes a digest.
const hashRate = 10 << 20

// errComputing means that no digest has come in time. The server may still be computing it.
var errComputing = errors.New("the server may still be computing")

// hash asks for a digest of the file by one of the commands in how, which is hashNamed of the algorithm. size is that
// of the file, or -1 if it is unknown. The file's directory must be the working directory.
func (r hasher) hash(algorithm string, how []string, size int64) ([]byte, error) {
	if r.features == nil {
		reply, err := r.command(Command{Verb: "FEAT"})
		if err != nil {
			return nil, err
		}
		r.features = reply
	}
	offers := func(verb string) bool { return offered(r.features, verb, "") }
	length, _ := strconv.Atoi(how[0])
	hash := how[1]
	own := how[2:]
	refusal := &Error{Op: "HASH", URL: r.url.Redacted()}
	refusal.Err = fmt.Errorf("%w: it offers no command for %s", errNoHash, algorithm)
	i := slices.IndexFunc(own, offers)
	hashes := offered(r.features, "HASH", hash)
	if !hashes && i < 0 {
		return nil, refusal
	}
	name, err := r.fullName()
	if err != nil {
		return nil, err
	}
	ask := []Command{withArg("OPTS", "HASH "+hash), withArg("HASH", name)}
	if !hashes {
		ask = asking(own[i], name)
	}
	for _, op := range ask {
		reply, err := r.computed(op, size)
		if err != nil {
			return nil, err
		}
		if op.Verb != "OPTS" && ofWhole(reply, name, size) {
			if d := digestIn(&reply, length, name); d != nil {
				return d, nil
			}
		}
		// without Code: 4yz is no reason to ask again
		refusal.Op = op.shown()
		refusal.Reply = reply.String()
		refusal.Err = fmt.Errorf("%w: it says %s", errNoHash, cut(reply.String()))
	}
	return nil, refusal
}

// asking returns the commands that ask for a digest by a verb of its own, the second for servers that refuse the first.
func asking(verb, name string) []Command {
	if strings.Contains(name, " ") { // many servers take what follows a space for a range of bytes
		return []Command{withArg(verb, `"`+name+`"`), withArg(verb, name)}
	}
	return []Command{withArg(verb, name)}
}

// fullName returns the name of the file from the root. Some servers look for the name of HASH in the root, whatever the
// working directory is (ftpserverlib). It returns the name alone if the server does not name its directories from "/".
func (r hasher) fullName() (string, error) {
	dir := r.home
	if dir == "" || len(r.dirs) > 0 {
		reply, err := r.command(Command{Verb: "PWD"})
		if err != nil {
			return "", err
		}
		dir = directoryIn(*reply)
	}
	if !strings.HasPrefix(dir, "/") {
		return r.url.Name, nil
	}
	return strings.TrimSuffix(dir, "/") + "/" + r.url.Name, nil
}

// computed sends a command whose reply may need the whole file, of this size.
func (r hasher) computed(op Command, size int64) (wire.Reply, error) {
	seconds := max(0, size) / hashRate
	limit := cmp.Or(r.client.Timeout, DefaultTimeout) + time.Duration(seconds)*time.Second
	reply, err := r.conn.AskFor(op.line(), limit)
	if err == nil {
		return reply, nil
	}
	e := r.failure(step{Command: op}, err)
	if errors.Is(e, ErrTimeout) {
		e.also(errComputing)
	}
	return reply, e
}

// ofHash matches the reply to HASH in the draft: "SHA-256 0-49 hex name".
var ofHash = lazy.Regexp(`^\S+ (\d+)-(\d+) [0-9a-fA-F]+(?: (.*))?$`)

// ofWhole reports whether a reply is about the whole file of that name and size, as far as it says. A server may count
// the last byte of the range in or out. It may have taken a part of the name for the name.
func ofWhole(reply wire.Reply, name string, size int64) bool {
	m := ofHash().FindStringSubmatch(reply.LastLine())
	if m == nil {
		return true
	}
	end, _ := strconv.ParseInt(m[2], 10, 64)
	whole := m[1] == "0" && (size < 0 || end == size || end == size-1)
	return whole && (m[3] == "" || path.Base(m[3]) == path.Base(name))
}

// command sends a command that is no step of the run.
func (r hasher) command(op Command) (*wire.Reply, error) {
	reply, err := r.conn.Ask(op.line(), false)
	if err != nil {
		return nil, r.failure(step{Command: op}, err)
	}
	return &reply, nil
}

// offered reports whether FEAT lists verb, with param among its parameters (RFC 2389 section 3.2).
func offered(features *wire.Reply, verb, param string) bool {
	if features == nil || features.Code/100 != 2 {
		return false
	}
	for line := range strings.SplitSeq(strings.ToUpper(features.Raw), "\n") {
		// Some servers put the reply code before every line, or several features on one line.
		several := strings.TrimPrefix(strings.TrimSpace(line), "211-")
		for feature := range strings.SplitSeq(several, ";") {
			words := strings.Fields(strings.ReplaceAll(feature, "*", " "))
			named := len(words) > 0 && (words[0] == verb || words[len(words)-1] == verb)
			if named && strings.Contains(line, param) {
				return true
			}
		}
	}
	return false
}

// digestIn returns the only digest of that many bytes in a positive reply, or nil. A word of the file's name, which
// some servers repeat, does not count.
func digestIn(r *wire.Reply, length int, name string) (digest []byte) {
	if r.Code/100 != 2 {
		return nil
	}
	for _, word := range strings.Fields(r.Raw) {
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
