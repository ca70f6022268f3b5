package download

import (
	"context"
	"errors"
	"io/fs"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/owner"
)

// choice says what to do about the target.
type choice struct {
	skip      string // why to leave it alone; "" means not to
	overwrite bool   // it may be replaced
	start     *start // not nil: it is the start of the file
}

// start is a target that Continue takes as the start of the server's file.
type start struct {
	fs.FileInfo
	whole *ftpexec.Entry
}

// choose decides what to do about the target. It asks the server if Newer or Continue make that depend on the server's
// file.
func (j *job) choose(ctx context.Context, to *partfile.Place) (choice, error) {
	var brought func(partfile.State) (bool, error)
	if !j.o.Newer && !j.o.Continue && !j.o.Overwrite && !j.o.Skip {
		brought = func(s partfile.State) (bool, error) { return j.brought(ctx, to, s) }
	}
	whole, err := to.Tidy(ctx, brought)
	switch {
	case err != nil:
		return choice{}, err
	case to.Info == nil:
		return choice{overwrite: j.o.Overwrite}, nil
	case j.o.Newer, j.o.Continue:
		return j.against(ctx, to)
	case j.o.Overwrite:
		return choice{overwrite: true}, nil
	case j.o.Skip:
		return choice{skip: leftExists}, nil
	case whole:
		return choice{skip: leftComplete}, nil
	}
	return choice{}, &localfile.Error{Path: to.Path, Reason: "already exists", Err: fs.ErrExist}
}

// brought reports whether the target, which a killed run has brought, is the file that this run should retrieve, and that
// has not changed on the server.
func (j *job) brought(ctx context.Context, to *partfile.Place, s partfile.State) (bool, error) {
	if s.URL != j.url {
		return false, nil
	}
	info, _, err := j.ask(ctx, to)
	if err != nil {
		return false, err
	}
	return (info.Size < 0 || j.text() || info.Size == s.Size) && info.ModTime.Equal(s.ModTime), nil
}

// ask asks the server for its file's size and time, and the system for the target's.
func (j *job) ask(ctx context.Context, to *partfile.Place) (info *ftpexec.Entry, local fs.FileInfo, err error) {
	local, err = to.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist) && to.Info.Mode().IsRegular():
		return nil, nil, partfile.ErrMoved
	case err != nil:
		return nil, nil, partfile.Failure(to.Path, "cannot be examined", err)
	}
	err = j.retry.Do(ctx, func() (err error) {
		info, err = j.stat(ctx)
		return err
	})
	return info, local, err
}

const older = "is older than the server's file, which has changed since"

// against decides what to do about the target by what the server says about its file. Newer retrieves one that is newer or
// of another size. Continue takes the target for its start; with Newer, only if the target is no older and shorter.
func (j *job) against(ctx context.Context, to *partfile.Place) (choice, error) {
	refuse := func(format string, args ...any) (choice, error) {
		return choice{}, because(ErrResume, "%s: "+format, append([]any{to.Path}, args...)...)
	}
	never := "" // why the target is the start of no file
	switch {
	case j.text() || !to.Info.Mode().IsRegular():
		never = "only a regular file in image type can be resumed"
	case !owner.Ours(to.Info):
		never = "cannot be resumed: it belongs to another user"
	}
	if never != "" && !j.o.Newer {
		return refuse("%s", never)
	}
	info, local, err := j.ask(ctx, to)
	if err != nil {
		return choice{}, err
	}
	fresh, comparable := info.ModTime.After(local.ModTime()), info.Size >= 0 && !j.text()
	switch {
	case !j.o.Newer:
	case info.ModTime.IsZero():
		j.o.note("the server does not report the file's time: retrieving it")
		return choice{overwrite: true}, nil
	case !fresh && (!comparable || info.Size == local.Size()):
		return choice{skip: leftOlder}, nil
	case fresh || !j.o.Continue || info.Size < local.Size():
		return choice{overwrite: true}, nil
	}
	switch {
	case never != "":
		return refuse("%s", never)
	case info.Size < 0:
		return refuse("cannot be resumed: the server does not report the file's size")
	case local.Size() > info.Size:
		return refuse("has %d bytes, but the server's file has only %d", local.Size(), info.Size)
	case fresh:
		return refuse("%s", older)
	case local.Size() == info.Size:
		return choice{skip: leftComplete}, nil
	}
	return choice{overwrite: true, start: &start{local, info}}, nil
}
