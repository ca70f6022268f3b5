package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
)

const (
	// deepest is how many directories may be above one of a tree.
	deepest = 128
	// mostAlike is how many of them may show the same as that directory, if it leads on in more than one way: then the
	// depth bounds nothing.
	mostAlike = 8
	// near is how deep a circle leads on servers that follow only some links in a path: Linux 40. A tree may lead as deep,
	// so it shows less.
	near = 16
)

// circle returns the directory above j that is j's own directory: some servers show links and mounts as directories. The
// fact "unique" or the same entries make one suspect it, but both are also the same in trees without a circle. So circle
// asks: in a circle the way from the one to the other leads on from there, again and again, and shows the same at its end.
func (b *engine) circle(ctx context.Context, j *job, found contents) (*node, error) {
	d, within := j.dir, found.dirs
	d.shows = found.shows
	var same, named *node // the nearest that shows the same, or that has the same name in "unique"
	alike := 0
	for a := d.up; a != nil && within > 0; a = a.up {
		_, above := a.wayTo(d)
		if above && a.shows == d.shows {
			alike++
			same = cmp.Or(same, a)
		} else if above && a.unique == d.unique && a.unique != "" {
			named = cmp.Or(named, a)
		}
	}
	unsure := &localfile.Error{Path: j.Path, Err: download.ErrLocal, Reason: fmt.Sprintf(
		"has more than %d directories above it, or some that show the same: if this is no circle, fetch its URL in a run of its own", deepest)}
	if d.depth > deepest || alike > mostAlike && within > 1 {
		return nil, unsure
	}
	if same = cmp.Or(same, named); same == nil || alike&(alike-1) != 0 { // what one try has not shown another may, but most will not
		return nil, nil
	}
	way, _ := same.wayTo(d)
	leads := func(levels int) (bool, error) {
		far := *d
		far.real = path.Join(d.real, strings.Repeat("/"+way, levels/(1+strings.Count(way, "/"))+1))
		there, err := b.entries(ctx, far.url(), nil)
		return err == nil && there.shows == d.shows, err
	}
	on, err := leads(deepest - d.depth)
	switch e := (*ftpexec.Error)(nil); {
	case on:
		return same, nil
	case err == nil || !noDirectory(err):
		return nil, err
	case errors.As(err, &e) && strings.HasSuffix(e.Reply, " Too many levels of symbolic links."): // pyftpdlib
		return same, nil
	}
	if within > 1 {
		if on, _ := leads(near); on {
			return nil, unsure
		}
	}
	return nil, nil
}

// wayTo returns the names that lead from a to d, if d is below a.
func (a *node) wayTo(d *node) (string, bool) {
	if a.real == "" {
		return d.real, d.real != ""
	}
	return strings.CutPrefix(d.real, a.real+"/")
}

var seed = maphash.MakeSeed()
