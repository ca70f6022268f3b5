package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/nats-io/nats.go"
)

// view is what the role look may see.
type view interface {
	jobsNow(context.Context) ([]job, error) // the newest first
	states(ctx context.Context, jobs []job, sums map[string]*sum) ([]*state, error)
	outcomes(ctx context.Context, id string, use func(stored) error) error
}

// remote is a view over the server's HTTPS. It has no login to NATS, so it can ask for nothing else.
type remote struct {
	join   *join
	client *http.Client
}

// view returns the view that a JOIN file allows, and what ends it. The token of role add, and an existing NATS, let the
// command read what NATS holds itself.
func (c *command) view(ctx context.Context) (view, func(), error) {
	j, err := c.readJoin()
	switch {
	case err != nil:
		return nil, nil, err
	case j.Role != "look" && j.Role != "work":
		f, err := j.open(ctx, "ftpfetch-fleet", c.patience, func() {})
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	case j.Page == "":
		return nil, nil, usage("%s names no page where to look: use the JOIN file of another role", c.join)
	}
	pinned, err := pin(j.Certificate)
	if err != nil {
		return nil, nil, err
	}
	r := &remote{j, &http.Client{Transport: &http.Transport{TLSClientConfig: pinned}}}
	return r, r.client.CloseIdleConnections, nil
}

// get requests a path, and calls use with the answer.
func (r *remote) get(ctx context.Context, path string, use func(io.Reader) error) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, r.join.Page+path, nil)
	if err != nil {
		return usage("the page of the JOIN file is malformed: write https://HOST:PORT")
	}
	q.SetBasicAuth(r.join.Role, r.join.Token)
	a, err := r.client.Do(q)
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return nats.ErrNoServers
	}
	if err != nil {
		return err
	}
	defer a.Body.Close()
	switch a.StatusCode {
	case http.StatusOK:
		return use(a.Body)
	case http.StatusUnauthorized:
		return nats.ErrAuthorization
	}
	return fmt.Errorf("the server answers %s", a.Status)
}

// decode reads one value.
func decode(to any) func(io.Reader) error {
	return func(from io.Reader) error { return json.NewDecoder(from).Decode(to) }
}

func (r *remote) jobsNow(ctx context.Context) (jobs []job, err error) {
	err = r.get(ctx, "/jobs", decode(&jobs))
	return jobs, err
}

func (r *remote) states(ctx context.Context, jobs []job, _ map[string]*sum) (states []*state, err error) {
	path := "/states"
	if len(jobs) == 1 {
		path += "?job=" + url.QueryEscape(jobs[0].ID)
	}
	err = r.get(ctx, path, decode(&states))
	if err == nil && len(jobs) == 1 && len(states) != 1 {
		err = errors.New("the job is gone")
	}
	return states, err
}

func (r *remote) outcomes(ctx context.Context, id string, use func(stored) error) error {
	return r.get(ctx, "/outcomes/"+url.PathEscape(id), func(from io.Reader) error {
		for d := json.NewDecoder(from); ; {
			var s stored
			err := d.Decode(&s)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = use(s)
			}
			if err != nil {
				return err
			}
		}
	})
}
