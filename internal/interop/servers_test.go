//go:build interop

package interop

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write docs/servers.md")

const serversFile = "../../docs/servers.md"

// TestServers measures every server, and checks that docs/servers.md says so.
func TestServers(t *testing.T) {
	t.Parallel()
	measured := measureAll(t)
	if t.Failed() {
		return
	}
	page := serversPage(t, measured)
	if *update {
		if err := os.WriteFile(serversFile, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(serversFile)
	if err != nil || !bytes.Equal(committed, page) {
		t.Errorf("docs/servers.md is not what was measured (%v): go test -tags interop ./internal/interop -run TestServers -update\n%s",
			err, differences(string(committed), string(page)))
	}
}

// differences returns the lines that are in only one of two texts.
func differences(was, is string) string {
	var b strings.Builder
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	for mark, in := range map[string][2][]string{"-": {old, now}, "+": {now, old}} {
		for _, line := range in[0] {
			if !slices.Contains(in[1], line) {
				b.WriteString(mark + line + "\n")
			}
		}
	}
	return b.String()
}

// cells are the values of a server: feature -> value.
type cells map[string]string

// measureAll measures the servers in parallel, and for each the tables: some servers are silent for long.
func measureAll(t *testing.T) map[Kind]cells {
	tree := plantProbe(t)
	var mu sync.Mutex
	all := map[Kind]cells{}
	t.Run("measure", func(t *testing.T) {
		for _, f := range servers {
			t.Run(string(f.kind), func(t *testing.T) {
				t.Parallel()
				got, plain := cells{}, New(t, f.kind, tree, Options{})
				mu.Lock()
				defer mu.Unlock()
				all[f.kind] = got
				for _, table := range tables {
					t.Run(table.title, func(t *testing.T) {
						t.Parallel()
						p := &probe{TB: t, kind: f.kind, flavour: f, tree: tree, plain: plain}
						for _, feature := range table.features {
							value := feature.measure(p)
							mu.Lock()
							got[feature.name] = value
							mu.Unlock()
						}
					})
				}
			})
		}
	})
	return all
}

// version returns the upstream version of a server's package or module.
func (f flavour) version() (string, error) {
	if f.kind == Library {
		text, err := os.ReadFile("../../go.mod")
		found := regexp.MustCompile(`fclairamb/ftpserverlib v(\S+)`).FindSubmatch(text)
		if err != nil || found == nil {
			return "", fmt.Errorf("no ftpserverlib in go.mod (%w)", err)
		}
		return string(found[1]), nil
	}
	return Version(f.pkg)
}
