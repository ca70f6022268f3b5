package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// infos prints what servers tell about files (-I): sizes and times, in the order of the URLs.
func (r *run) infos(ctx context.Context) {
	const most = 512         // files in one request, to bound the memory
	var some []*urlparse.URL // files of one login
	for t := range r.tasks(ctx) {
		u := t.URLs[0]
		if len(some) == most || len(some) > 0 && !some[0].SameLogin(u) {
			r.infoAbout(ctx, some)
			some = nil
		}
		some = append(some, u)
	}
	r.infoAbout(ctx, some)
}

// infoAbout prints what the server tells about files of one login. A server that fails is not asked about the others.
func (r *run) infoAbout(ctx context.Context, some []*urlparse.URL) {
	for len(some) > 0 && !r.ended(ctx) {
		if r.silent != nil && r.silent.SameLogin(some[0]) {
			r.print.Line("ftpfetch: %s: %d more files of this server are not asked about",
				printable.Line(some[0].Host), len(some))
			return
		}
		n, err := r.askAll(ctx, some)
		some = some[n:]
		if err == nil {
			return
		}
		r.printErrorOf(ctx, some[0], err)
		if retry.NoService(err) {
			r.silent = some[0]
		}
		some = some[1:]
	}
}

// askAll asks about files of one login, each within --max-time. It returns how many it has handled, and the error that
// stopped it.
func (r *run) askAll(ctx context.Context, all []*urlparse.URL) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered := func() {}
	if r.MaxTime > 0 {
		late := time.AfterFunc(r.MaxTime, func() { cancel(r.tooLong()) })
		defer late.Stop()
		answered = func() { late.Reset(r.MaxTime) }
	}
	err = r.again(ctx, func() error {
		var failure error // the error of one file, after which the iteration goes on
		for e, err := range r.source.StatAll(ctx, all[n:]) {
			if failure != nil {
				r.printErrorOf(ctx, all[n], failure)
				n++
			}
			failure = err
			if err == nil {
				r.print.Print(r.infoLine(all[n], e))
				if err := r.print.Lost(); err != nil {
					return err
				}
				n++
			}
			answered()
		}
		return failure
	})
	return n, err
}

func (r *run) infoLine(u *urlparse.URL, e ftpexec.Entry) []byte {
	e.URL = u
	x := rowOf(e)
	if !r.JSON {
		r.zoneless = r.zoneless || e.Local
		return fmt.Appendf(nil, "%s\t%s\t%s\n", r.size(e.Size), timeOf(e), x.URL)
	}
	x.Name = ""
	x.Type = ""
	x.Mode = ""
	x.Target = ""
	if !e.Local && e.Precision <= time.Second {
		x.Precision = ""
	}
	return printable.JSON(x)
}

// infos prints what -I with -r or --glob finds out about the files of trees, and their total.
type infos struct {
	run            *run
	files, unknown int64 // files; files whose size is unknown or would overflow the sum
	octets         int64
	all            []ftpexec.Entry // kept for sorting
}

// add handles a file.
func (i *infos) add(u *urlparse.URL, e ftpexec.Entry) {
	i.files++
	if e.Size < 0 || e.Size > math.MaxInt64-i.octets {
		i.unknown++
	} else {
		i.octets += e.Size
	}
	e.Name = u.String()
	e.URL = u
	if i.run.Long {
		e.Name = i.run.below(u)
	}
	if i.run.Sort != "" && i.run.Sort != "none" {
		i.all = append(i.all, e)
	} else {
		i.print(e)
	}
}

// print prints a file, for -I or for -l, which has no permissions then.
func (i *infos) print(e ftpexec.Entry) {
	r := i.run
	if r.Long {
		r.print.Print(r.appendLine(nil, e, show.IsTerminal(r.print.Out), false))
	} else {
		r.print.Print(r.infoLine(e.URL, e))
	}
}

// total is how much there is in trees.
type total struct {
	Files   int64 `json:"files"`
	Size    int64 `json:"size"`              // bytes of the files whose size is known
	Unknown int64 `json:"unknown,omitempty"` // number of files whose size is not known
	Whole   bool  `json:"whole"`             // all trees were listed completely
}

// end prints the kept entries in order, and the total. whole says that all trees were listed.
func (i *infos) end(ctx context.Context, whole bool) {
	r := i.run
	slices.SortStableFunc(i.all, func(a, b ftpexec.Entry) int { return compare(r.Sort, a, b) })
	if r.Reverse {
		slices.Reverse(i.all)
	}
	for _, e := range i.all {
		i.print(e)
	}
	if r.Long || r.ended(ctx) || i.files == 0 && !whole {
		return
	}
	if r.JSON {
		all := total{Files: i.files, Size: i.octets, Unknown: i.unknown, Whole: whole}
		r.print.Print(printable.JSON(sum[total]{Total: all}))
		return
	}
	text := printable.Count(i.files, "file", "files")
	if i.unknown > 0 {
		text += fmt.Sprintf(", %d of them of unknown size", i.unknown)
	}
	if !whole {
		text += ", not all of the tree"
	}
	r.print.Print(fmt.Appendf(nil, "%s\t%s\ttotal\n", r.size(i.octets), text))
}
