package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// roles are the rights that JOIN files give. Each role includes those before it.
var roles = []string{"look", "work", "add"}

// space is the first part of the names of all subjects, streams and buckets of a fleet.
type space string

func (s space) subject(parts ...string) string { return string(s) + "." + strings.Join(parts, ".") }

// jsAPI begins the subjects of the requests to JetStream, and api those of a worker to the JetStream of the account that
// holds the fleet.
const jsAPI = jetstream.DefaultAPIPrefix

func (s space) api() string { return s.subject("api.") }

func (s space) named(kind string) string { return string(s) + "_" + kind }

// Buckets, by what a worker may do with them: read, or write too. HOSTS, QUEUES, JOBS and CAPS are told: workers hear of
// each change.
var (
	readOnly  = []string{"HOSTS", "QUEUES", "JOBS"}
	readWrite = []string{"CAPS", "SLOTS", "REFUSALS", "WORKERS", "ATTEMPTS"}
)

// imports returns what a worker may ask of the account that holds the fleet: requests with one answer, requests with
// several answers, and messages that it may hear. It is all that a worker can do outside its own account. The server
// sends an answer to the account that asks, whatever subject the request names for the answer, and no request of these
// names a subject in its contents.
func (s space) imports() (single, several, heard []string) {
	work := s.named("WORK")
	for _, name := range append(slices.Clone(readOnly), readWrite...) {
		stream := "KV_" + s.named(name)
		single = append(single, "$JS.API.STREAM.INFO."+stream, "$JS.API.DIRECT.GET."+stream+".>")
		several = append(several, "$JS.API.DIRECT.GET."+stream)
	}
	for _, name := range readWrite {
		single = append(single, "$KV."+s.named(name)+".>")
	}
	single = append(single, "$JS.API.STREAM.INFO."+work, "$JS.API.STREAM.INFO."+s.named("RESULTS"),
		"$JS.API.STREAM.MSG.GET."+s.named("RESULTS"), "$JS.API.CONSUMER.INFO."+work+".*",
		"$JS.ACK."+work+".>", s.subject("work.*.*"), s.subject("results.*.*"), s.subject("room"))
	several = append(several, "$JS.API.CONSUMER.MSG.NEXT."+work+".*")
	return single, several, []string{s.subject("told.>")}
}

// accounts returns the part of a configuration of NATS that keeps the roles apart: an account for add, which holds
// everything, and one for work, which holds nothing.
func (s space) accounts(addToken, workToken string) string {
	type object map[string]any
	var exports, imports []object
	export := func(kind, response string, subjects []string) {
		for _, subject := range subjects {
			e := object{kind: subject, "accounts": []string{s.named("work")}}
			if response != "" {
				e["response_type"] = response
			}
			exports = append(exports, e)
			i := object{kind: object{"account": s.named("add"), "subject": subject}}
			if rest, ok := strings.CutPrefix(subject, jsAPI); ok { // NATS answers these in each account itself
				i["to"] = s.api() + rest
			} else if strings.HasPrefix(subject, "$KV.") { // where the library publishes if the prefix is another one
				i["to"] = s.api() + subject
			}
			imports = append(imports, i)
		}
	}
	single, several, heard := s.imports()
	export("service", "single", single)
	export("service", "stream", several)
	export("stream", "", heard)
	user := func(name, token string) []object { return []object{{"user": name, "password": token}} }
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // NATS reads JSON, but not \u003e
	e.SetIndent("", "  ")
	_ = e.Encode(object{"accounts": object{
		s.named("add"):  object{"jetstream": "enabled", "users": user("add", addToken), "exports": exports},
		s.named("work"): object{"users": user("work", workToken), "imports": imports},
	}})
	return text.String()
}

// token returns the token of a role. It reveals nothing about the other tokens.
func (h *hub) token(role string) string {
	text := role + " " + h.secret
	if n := (*h.revoked.Load())[role]; n > 0 {
		text = fmt.Sprintf("%s %d %s", role, n, h.secret)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// as returns the JOIN file of a role. With look, there is no login to NATS.
func (h *hub) as(role string) join {
	j := h.join
	j.Role = role
	j.Token = h.token(role)
	j.Work = ""
	switch role {
	case "look":
		j.Address = ""
	case "add":
		j.Work = h.token("work")
	}
	return j
}

// may returns an error if the role is not sufficient. An existing NATS has rules of its own.
func (j *join) may(role string) error {
	if j.Role == "" || slices.Index(roles, j.Role) >= slices.Index(roles, role) {
		return nil
	}
	return fmt.Errorf("%w: this JOIN file is one to %s: ask for one to %s",
		nats.ErrPermissionViolation, j.Role, role)
}

// revokedName names the file in STATE that counts how often the tokens of each role were revoked.
const revokedName = "revoked.json"

func readRevoked(dir string) (map[string]int, error) {
	n := make(map[string]int)
	text, err := os.ReadFile(filepath.Join(dir, revokedName))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	return n, err
}

// revoke makes the token of a role invalid. A server that runs notices that within a second, and writes new JOIN files.
func revoke(c *command) error {
	role := c.operand()
	if c.dir == "" || !slices.Contains(roles, role) {
		return usage("revoke needs --dir STATE and a role: look, work or add")
	}
	if _, err := os.Stat(filepath.Join(c.dir, identityName)); err != nil {
		return usage("%s is not the STATE of a server: %v", shown(c.dir), err)
	}
	n, err := readRevoked(c.dir)
	if err != nil {
		return err
	}
	n[role]++
	text, _ := json.Marshal(n)
	return writeSecret(filepath.Join(c.dir, revokedName), text)
}

// reread reads which tokens were revoked, and reports whether that has changed. If so, it ends the connections that
// have one of them.
func (h *hub) reread() (changed bool, err error) {
	now, err := readRevoked(h.dir)
	if err != nil || fmt.Sprint(now) == fmt.Sprint(*h.revoked.Load()) {
		return false, err
	}
	h.revoked.Store(&now)
	o, err := h.options()
	if err == nil {
		err = h.ReloadOptions(o)
	}
	return true, err
}

// options returns the options of the server. With the defaults it would listen on all addresses, without authentication
// or TLS. The server compares the tokens in constant time.
func (h *hub) options() (*server.Options, error) {
	o := new(server.Options)
	if err := o.ProcessConfigString(h.space.accounts(h.token("add"), h.token("work"))); err != nil {
		return nil, err
	}
	h.fill(o)
	return o, nil
}

// printAccounts prints the accounts of an existing NATS, with new tokens.
func printAccounts(c *command) error {
	s, err := spaceOf(c.namespace)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.out, s.accounts(newToken(), newToken()))
	return err
}
