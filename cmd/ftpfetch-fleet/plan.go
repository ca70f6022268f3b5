package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
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
	parcels   *os.File         // one parcel for each file: the list may be larger than memory, and is read once
}

// parcel is what is sent of a task, in JSON.
type parcel struct {
	item
	Host string
	Cost int64
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

// put writes the parcel of a task. A file larger than a chunk costs as much as a full chunk, because it becomes one.
func (p *plan) put(to io.Writer, t download.Task) error {
	if t.Tree != nil {
		return usage("a fleet fetches lists of files: ftpfetch -I -r URL prints the files of a tree, for a list")
	}
	i, err := pack(itemOf(&t))
	if err != nil {
		return usage("line %d: %v", t.Line, err)
	}
	one := parcel{i, t.URLs[0].Address(), perFile}
	if t.Size != nil {
		one.Cost += min(max(0, *t.Size), mostBytes)
	}
	text, _ := json.Marshal(one)
	if len(text) > mostText {
		return usage("line %d is too long for a message", t.Line)
	}
	p.cost[one.Host] += one.Cost
	for _, u := range t.URLs {
		p.addresses[u.Address()] = true
	}
	_, err = to.Write(text)
	return err
}

func (p *plan) close() {
	_ = p.parcels.Close()
	_ = os.Remove(p.parcels.Name())
}

// growing is a chunk to which files are being added.
type growing struct {
	chunk
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
func (p *plan) chunks(j *job, prefix string) iter.Seq2[chunk, error] {
	return func(yield func(chunk, error) bool) {
		hosts := make(map[string]*growing)
		n := 0
		flush := func(g *growing) bool {
			n++
			g.ID = prefix + strconv.Itoa(n)
			return yield(g.chunk, nil)
		}
		d := json.NewDecoder(io.NewSectionReader(p.parcels, 0, math.MaxInt64))
		for {
			var one parcel
			begin := d.InputOffset()
			err := d.Decode(&one)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				yield(chunk{}, err)
				return
			}
			text := d.InputOffset() - begin
			g := hosts[one.Host]
			if g == nil {
				g = &growing{chunk: chunk{Job: j.ID, Host: one.Host, Terms: j.Terms}}
				hosts[one.Host] = g
			}
			if g.full(p, one.Cost, text) {
				if !flush(g) {
					return
				}
				g.Items = nil
				g.cost = 0
				g.text = 0
			}
			g.Items = append(g.Items, one.item)
			g.cost += one.Cost
			g.text += text
		}
		for _, host := range slices.Sorted(maps.Keys(hosts)) {
			if !flush(hosts[host]) {
				return
			}
		}
	}
}
