package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"

	"example.com/ftpfetch/download"
)

// plan is what is sent of a list. It cuts the files of each host into several chunks for each lane, so that all lanes
// have work from the start and no chunk takes long.
type plan struct {
	lanes     int
	cost      map[string]int64 // of all files of a host, by host
	addresses map[string]bool  // of all URLs
	parcels   *os.File         // a line for each file: the list may be larger than memory, and is read once
}

const (
	perLane = 8         // number of chunks
	perFile = 256 << 10 // cost of a file in addition to its bytes, in bytes
)

// measure plans a list, and counts its files in j. It refuses a list that cannot be sent completely. The caller must
// close the plan.
func (j *job) measure(tasks iter.Seq[download.Task], lanes int) (*plan, error) {
	file, err := os.CreateTemp("", ".ftpfetch-fleet-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // fails on Windows while the file is open
	p := &plan{max(1, lanes), make(map[string]int64), make(map[string]bool), file}
	to := bufio.NewWriter(file)
	for task := range tasks {
		if err = p.put(to, task); err != nil {
			break
		}
		j.count(itemOf(&task))
	}
	if err = cmp.Or(err, to.Flush()); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// put writes the line of a task. A file larger than a chunk costs as much as a full chunk, because it becomes one.
func (p *plan) put(to io.Writer, t download.Task) error {
	if t.Tree != nil {
		return usage("a fleet fetches lists of files: ftpfetch -I -r URL prints the files of a tree, for a list")
	}
	i, err := pack(itemOf(&t))
	if err != nil {
		return usage("line %d: %v", t.Line, err)
	}
	host, cost := t.URLs[0].Address(), int64(perFile)
	if t.Size != nil {
		cost += min(max(0, *t.Size), mostBytes)
	}
	text, _ := json.Marshal(i)
	if len(text) > mostText {
		return usage("line %d is too long for a message", t.Line)
	}
	p.cost[host] += cost
	p.addresses[host] = true
	for _, u := range t.URLs[1:] {
		p.addresses[u.Address()] = true
	}
	_, err = fmt.Fprintf(to, "%d %s %s\n", cost, host, text)
	return err
}

// parcel returns the parts of a line that put has written: what the file costs, its host, and its item in JSON.
func parcel(line []byte) (cost int64, host string, item []byte, err error) {
	fields := bytes.SplitN(line, []byte(" "), 3)
	if len(fields) < 3 {
		return 0, "", nil, io.ErrUnexpectedEOF
	}
	cost, err = strconv.ParseInt(string(fields[0]), 10, 64)
	return cost, string(fields[1]), bytes.TrimSuffix(fields[2], []byte("\n")), err
}

func (p *plan) close() {
	_ = p.parcels.Close()
	_ = os.Remove(p.parcels.Name())
}

// packed is a chunk as it is sent, whose items are in JSON already.
type packed struct {
	chunk
	Items []json.RawMessage `json:"items"` // in place of those of chunk
}

// growing is a chunk to which files are being added.
type growing struct {
	packed
	cost int64
	text int64
}

// full reports whether a file with this cost and text needs another chunk.
func (g *growing) full(p *plan, cost, text int64) bool {
	share := min(p.cost[g.Host]/int64(p.lanes*perLane), mostBytes)
	return len(g.Items) > 0 && (len(g.Items) == mostFiles || g.cost+cost > max(share, cost) ||
		g.text+text > mostText)
}

// chunks cuts a plan into the chunks of a job, each for one host. Their ids begin with prefix.
func (p *plan) chunks(j *job, prefix string) iter.Seq2[packed, error] {
	return func(yield func(packed, error) bool) {
		hosts := make(map[string]*growing)
		n := 0
		flush := func(g *growing) bool {
			n++
			g.ID = prefix + strconv.Itoa(n)
			return yield(g.packed, nil)
		}
		from := bufio.NewReader(io.NewSectionReader(p.parcels, 0, math.MaxInt64))
		for {
			line, err := from.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				break
			}
			cost, host, item, perr := parcel(line)
			if err = cmp.Or(err, perr); err != nil {
				yield(packed{}, err)
				return
			}
			g := hosts[host]
			if g == nil {
				g = &growing{packed: packed{chunk: chunk{Job: j.ID, Host: host, Terms: j.Terms}}}
				hosts[host] = g
			}
			if g.full(p, cost, int64(len(item))) {
				if !flush(g) {
					return
				}
				g.Items = nil
				g.cost = 0
				g.text = 0
			}
			g.Items = append(g.Items, item)
			g.cost += cost
			g.text += int64(len(item))
		}
		for _, host := range slices.Sorted(maps.Keys(hosts)) {
			if !flush(hosts[host]) {
				return
			}
		}
	}
}
