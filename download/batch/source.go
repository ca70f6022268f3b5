package batch

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/schedule"
)

// first is the Source of one file of many, on the connection that its turn has. Package download asks it for what the other
// files of the run have found out already.
type first struct {
	download.Source
	turn  *schedule.Turn[*job]
	place *partfile.Place
	lists *sums.Cache
}

// Do says whether another file of the server follows.
func (f *first) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	again := *req
	again.More = f.turn.Follows
	return f.Source.Do(ctx, &again)
}

// Arrived ends the use of the connection: what follows does not need it.
func (f *first) Arrived() { f.turn.Release() }

// Place is where the file is to be, which has been looked at.
func (f *first) Place() *partfile.Place { return f.place }

// Lists has the lists of digests that files of the run have needed.
func (f *first) Lists() *sums.Cache { return f.lists }

// Size returns the size of the file that the listing of its directory tells.
func (f *first) Size(ctx context.Context, again bool) (int64, error) {
	j := f.turn.Value
	if !again || j.in == nil {
		return j.listed, nil
	}
	for e, err := range f.Source.Entries(ctx, j.in.url()) {
		switch {
		case err != nil && !errors.Is(err, ftpexec.ErrLine):
			return -1, err
		case err == nil && path.Base(e.Name) == j.name:
			j.listed = e.Size
			return e.Size, nil
		}
	}
	return -1, fmt.Errorf("%s: %w: its directory no longer lists it", j.url().Redacted(), ftpexec.ErrChanged)
}

// ModTime returns the file's time as that listing tells it.
func (f *first) ModTime() time.Time { return f.turn.Value.modTime }

// Extra is what package download asks for more connections.
func (f *first) Extra() download.Source { return &extra{f} }

// extra is the Source for the further connections of a file.
type extra struct{ *first }

// Do gives back the token of a connection that the server refuses.
func (e *extra) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	r, err := e.Source.Do(ctx, req)
	if errors.Is(err, ftpexec.ErrTooMany) {
		e.turn.Refused(err)
	}
	return r, err
}
