package download

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

// deepest is the maximum depth of a directory in a tree.
const deepest = 128

// mostAlike is how many directories above a directory may have the same listing, if the listing has more than one
// directory. Then the number of paths grows exponentially, and deepest alone does not bound the run.
const mostAlike = 8

// near is the depth to probe on servers that follow only a limited number of links in a path, such as 40 on Linux. A
// tree without a circle may be that deep too, so this probe proves less.
const near = 16

// circle returns the directory above j that is the same directory as j, or nil. Some servers show links and mounts as
// directories. The same fact "unique" (RFC 3659 section 7.5.2) or the same entries are a hint, but occur in trees
// without a circle too. So circle probes the server: in a circle, the path from the one to the other can be repeated
// any number of times, and ends at a directory with the same listing.
func (b *engine) circle(ctx context.Context, j *job, found contents) (*node, error) {
	d := j.dir
	d.shows = found.shows
	if found.dirs == 0 { // it has no subdirectories
		return nil, d.tooDeep(j, false)
	}
	same, alike := d.suspect()
	if err := d.tooDeep(j, alike > mostAlike && found.dirs > 1); err != nil {
		return nil, err
	}
	// if one probe proves nothing, a deeper one may: probe after 1, 2, 4, ... alike directories
	if same == nil || alike&(alike-1) != 0 {
		return nil, nil
	}
	on, err := b.leads(ctx, d, same, deepest-d.depth)
	e, _ := errors.AsType[*ftpexec.Error](err)
	switch {
	// the reply of pyftpdlib in a circle
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

// suspect returns the nearest directory above d with the same listing, or else the nearest with the same fact "unique".
// alike is the number of directories above d with the same listing.
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

// leads repeats the path from a directory to d below d, at least levels deep, and reports whether the directory there
// has the same listing as d.
func (b *engine) leads(ctx context.Context, d, from *node, levels int) (bool, error) {
	way, _ := from.wayTo(d)
	times := levels/(1+strings.Count(way, "/")) + 1
	far := *d
	far.real = path.Join(d.real, strings.Repeat("/"+way, times))
	there, err := b.entries(ctx, far.url(), listingHooks{}, &nameSet{})
	return err == nil && there.shows == d.shows, err
}

// tooDeep returns an error if d is too deep in the tree, or if unsure says that it may be in a circle.
func (d *node) tooDeep(j *job, unsure bool) error {
	if d.depth <= deepest && !unsure {
		return nil
	}
	reason := fmt.Sprintf("is more than %d directories deep, or looks like a directory above it: "+
		"if links do not lead in a circle, fetch it by a URL of its own", deepest)
	return &localfile.Error{Path: j.Path, Reason: reason}
}

// wayTo returns the path from a to d, and whether d is below a.
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
	below  string            // path relative to the tree's directory; "" for that directory
	depth  int               // number of directories above it in the tree
	real   string            // below, after following links
	up     *node             // the directory whose listing has this one; nil for the tree's directory
	survey *survey           // of the tree
	links  int               // number of links followed to get here
	login  string            // the login directory at the time of the listing; "" if unknown
	guess  bool              // it may be a file: the listing or the URL does not say
	kind   urlparse.Typecode // type of the file that it may be; "": Tree.Type decides

	unique string // the fact "unique" in the listing of up; "" if missing
	shows  uint64 // hash of its own listing
	// taken has the names that no other entry of the listing may have: at first those of files that were queued before the
	// listing was complete, see early.
	taken nameSet
	// folded has the keys of the folded names of entries whose names are not folded.
	folded map[uint64]bool
	local  *localNames // see localNames; nil if they are not read, or the directory is listed
}

// mostLinks bounds the links on the path to a directory. Without a bound, links that the server resolves itself could
// form a circle in which no path occurs twice.
const mostLinks = 8

// follow makes p, an entry of in, the node that the link p leads to. It returns false if the target is outside the tree
// or makes a circle.
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
