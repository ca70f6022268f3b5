package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// deepest is how many directories may be above one of a tree.
const deepest = 128

// mostAlike is how many of them may show the same as that directory, if it leads on in more than one way: then the
// depth bounds nothing.
const mostAlike = 8

// near is how deep a circle leads on servers that follow only some links in a path: Linux 40. A tree may lead as deep,
// so it shows less.
const near = 16

// circle returns the directory above j that is j's own directory: some servers show links and mounts as directories.
// The fact "unique" or the same entries make one suspect it, but both are also the same in trees without a circle. So
// circle asks: in a circle the way from the one to the other leads on from there, again and again, and shows the same
// at its end.
func (b *engine) circle(ctx context.Context, j *job, found contents) (*node, error) {
	d := j.dir
	d.shows = found.shows
	if found.dirs == 0 { // it leads nowhere
		return nil, d.tooDeep(j, false)
	}
	same, alike := d.suspect()
	if err := d.tooDeep(j, alike > mostAlike && found.dirs > 1); err != nil {
		return nil, err
	}
	// what one try has not shown another may, but most will not
	if same == nil || alike&(alike-1) != 0 {
		return nil, nil
	}
	on, err := b.leads(ctx, d, same, deepest-d.depth)
	e, _ := errors.AsType[*ftpexec.Error](err)
	switch {
	// pyftpdlib
	case on, e != nil && strings.HasSuffix(e.Reply, " Too many levels of symbolic links."):
		return same, nil
	case err == nil || !noDirectory(err):
		return nil, err
	}
	if found.dirs > 1 {
		on, _ = b.leads(ctx, d, same, near)
	}
	return nil, d.tooDeep(j, on)
}

// suspect returns the nearest directory above d that shows the same, or else the nearest that has the same name in
// "unique"; and how many show the same.
func (d *node) suspect() (same *node, alike int) {
	var named *node
	for a := d.up; a != nil; a = a.up {
		_, above := a.wayTo(d)
		switch {
		case !above:
		case a.shows == d.shows:
			alike++
			same = cmp.Or(same, a)
		case a.unique == d.unique && a.unique != "":
			named = cmp.Or(named, a)
		}
	}
	return cmp.Or(same, named), alike
}

// leads reports whether the way from a directory to d leads on from d, so many levels down, and shows the same there.
func (b *engine) leads(ctx context.Context, d, from *node, levels int) (bool, error) {
	way, _ := from.wayTo(d)
	times := levels/(1+strings.Count(way, "/")) + 1
	far := *d
	far.real = path.Join(d.real, strings.Repeat("/"+way, times))
	there, err := b.entries(ctx, far.url(), early{}, nil)
	return err == nil && there.shows == d.shows, err
}

// tooDeep returns an error if d is too deep in the tree, or may be in a circle that nothing proves.
func (d *node) tooDeep(j *job, unsure bool) error {
	if d.depth <= deepest && !unsure {
		return nil
	}
	reason := fmt.Sprintf("is more than %d directories deep, or looks like a directory above it: "+
		"if links do not lead in a circle, fetch it by a URL of its own", deepest)
	return &localfile.Error{Path: j.Path, Reason: reason}
}

// wayTo returns the names that lead from a to d, if d is below a.
func (a *node) wayTo(d *node) (string, bool) {
	if a.real == "" {
		return d.real, d.real != ""
	}
	return strings.CutPrefix(d.real, a.real+"/")
}

var seed = maphash.MakeSeed()

// node is a directory of a tree.
type node struct {
	root   *urlparse.URL     // of the tree
	below  string            // the path below the tree's directory; "" for that directory
	depth  int               // levels above it
	real   string            // below, with the links followed
	up     *node             // the directory whose listing has it; nil for the tree's own
	survey *survey           // of the tree
	links  int               // links followed on the way
	login  string            // the directory after the login when it was listed; "" if unknown
	guess  bool              // it may be a file: the listing or the URL does not say
	kind   urlparse.Typecode // of the file that it may be; "" if the tree says it

	unique string // as the listing of up has it; "" if it has none
	shows  uint64 // the identity of its own listing
	// the keys of files that are queued before the listing is whole; see early
	ahead map[uint64]bool
}

// mostLinks bounds the links on the way to a directory. A chain of links that the server resolves itself could otherwise
// lead in a circle that shows no name twice.
const mostLinks = 8

// follow makes p, an entry of in, the node to which it links. It returns false if that is outside the tree or a circle.
func (p *node) follow(in *node, target string) bool {
	if strings.HasPrefix(target, "/") {
		root := "/" + strings.Trim(strings.Join(p.root.Dirs, "/"), "/")
		inside, ok := strings.CutPrefix(path.Clean(target)+"/", strings.TrimSuffix(root, "/")+"/")
		if !ok || len(p.root.Dirs) == 0 || !strings.HasPrefix(p.root.Dirs[0], "/") {
			return false
		}
		p.real = strings.TrimSuffix(inside, "/")
	} else {
		p.real = path.Join(in.real, target)
	}
	if p.real == "." {
		p.real = ""
	}
	for a := p.up; a != nil; a = a.up {
		if a.real == p.real {
			return false
		}
	}
	p.links++
	return target != "" && p.real != ".." && !strings.HasPrefix(p.real, "../") &&
		p.links <= mostLinks
}
