package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// roles are the rights that JOIN files give. Each role includes those before it.
var roles = []string{"look", "work", "add"}

// The subjects that a role may publish and subscribe to. No role can remove stored messages, except that a worker takes
// chunks, and removes queues that are empty.
const (
	lookSays = `
		$JS.API.STREAM.INFO.*
		$JS.API.STREAM.MSG.GET.*
		$JS.API.DIRECT.GET.>
		$JS.API.CONSUMER.CREATE.*.>
		$JS.API.CONSUMER.INFO.*.*
		$JS.API.CONSUMER.DELETE.*.*
		$JS.API.CONSUMER.MSG.NEXT.*.*
		$JS.FC.>
	`
	lookSaysNot = `
		$JS.API.CONSUMER.*.WORK.>
		$JS.API.CONSUMER.MSG.NEXT.WORK.*
	`
	lookHears = `_INBOX.>`

	workSays = lookSays + `
		work.*.*
		results.*.*
		hungry.*
		holder.*
		free.*.*
		$JS.ACK.>
		$KV.QUEUES.>
		$KV.SLOTS.>
		$KV.CAPS.>
		$KV.REFUSALS.>
		$KV.WORKERS.>
		$KV.ATTEMPTS.>
	`
	workHears = lookHears + `
		hungry.*
		holder.*
		free.*.*
	`
)

// users returns a user of the server for each role.
func (h *hub) users() []*server.User {
	user := func(role, says, saysNot, hears string) *server.User {
		may := &server.Permissions{
			Publish: &server.SubjectPermission{
				Allow: strings.Fields(says), Deny: strings.Fields(saysNot),
			},
			Subscribe: &server.SubjectPermission{Allow: strings.Fields(hears)},
			Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: asking},
		}
		return &server.User{Username: role, Password: h.as(role).Token, Permissions: may}
	}
	return []*server.User{
		user("look", lookSays, lookSaysNot, lookHears),
		user("work", workSays, "", workHears),
		user("add", ">", "", ">"),
	}
}

// as returns the JOIN file of a role. Its token reveals nothing about the other tokens.
func (h *hub) as(role string) join {
	sum := sha256.Sum256([]byte(role + " " + h.secret))
	j := h.join
	j.Role = role
	j.Token = hex.EncodeToString(sum[:])
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
