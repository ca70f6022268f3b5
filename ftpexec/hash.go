package ftpexec

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/ftpexec/internal/wire"
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
// the server's FEAT offers none of these commands, or the reply contains no digest. A server reads the whole file before
// it replies, so Client.Timeout must be long enough for that.
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
			digest, err = r.hash(algorithm, how)
		}
		return err
	})
	return digest, err
}

// hash asks for a digest of the file. The file's directory must be the working directory.
func (r *run) hash(algorithm string, how []string) ([]byte, error) {
	if r.features == nil {
		reply, err := r.command(Command{Verb: "FEAT"})
		if err != nil {
			return nil, err
		}
		r.features = reply
	}
	offers := func(verb string) bool { return offered(r.features, verb, "") }
	name := r.url.Name
	op := withArg("HASH", name)
	var ask []Command
	length, _ := strconv.Atoi(how[0])
	hash := how[1]
	own := how[2:]
	if offered(r.features, "HASH", hash) {
		ask = []Command{withArg("OPTS", "HASH "+hash), op}
	} else if i := slices.IndexFunc(own, offers); i >= 0 {
		ask = []Command{withArg(own[i], name)}
	}
	why := fmt.Errorf("%w: it offers no command for %s", errNoHash, algorithm)
	for _, op = range ask {
		reply, err := r.command(op)
		if err != nil {
			return nil, err
		}
		if d := digestIn(reply, length, name); d != nil {
			return d, nil
		}
		// not as Error.Reply: 4yz is no reason to ask again
		why = fmt.Errorf("%w: it says %s", errNoHash, cut(reply.String()))
	}
	return nil, &Error{Op: op.shown(), URL: r.url.Redacted(), Err: why}
}

// command sends a command that is no step of the run.
func (r *run) command(op Command) (*wire.Reply, error) {
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
