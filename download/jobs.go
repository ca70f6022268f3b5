package download

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"time"

	"example.com/ftpfetch/download/internal/claims"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/urlparse"
)

// job is a task, or a file or directory from a listing.
type job struct {
	*Task             // nil until makeTask, because a Task takes more memory than the rest
	in      *job      // the directory whose listing has this file
	name    string    // name in that listing
	dir     *node     // the directory; nil for a file
	listed  int64     // size in the listing; -1 if unknown
	modTime time.Time // time in the listing, exact to the second; zero if unknown
	link    string    // target of the symbolic link that led here; "" if none
	waited  bool      // it has waited for another run
	chooses bool      // it stands for the choice among the files of the tree, not for its directory
	short   uint8     // how often it lacked open files although it ran alone
	written bool      // its Writer has bytes, which cannot be taken back
}

// size returns the size of a file if it is known in advance, or -1.
func (j *job) size() int64 {
	if j.Task != nil && j.Size != nil {
		return *j.Size
	}
	return j.listed
}

func (j *job) url() *urlparse.URL { return j.URLs[0] }

// makeTask gives a file from a listing its Task. It is called late, when the file's turn comes, to save memory.
func (j *job) makeTask() {
	if j.Task == nil {
		j.Task = &Task{Tree: j.in.Tree}
		j.Path = path.Join(j.in.Path, j.name)
		j.URLs = []*urlparse.URL{j.in.url().Child(localfile.Segment(j.name), j.Tree.typeOf(j.name))}
	}
}

// jobs counts the tasks and turns them into jobs. It reads one task ahead: if the only task is a tree, no two files
// have the same path, and b.paths stays nil.
func (b *engine) jobs(tasks iter.Seq[Task]) iter.Seq[schedule.Job[*job]] {
	return func(yield func(schedule.Job[*job]) bool) {
		if tasks == nil {
			return
		}
		next, stop := iter.Pull(tasks)
		defer stop()
		t, more := next()
		for more {
			task := t
			t, more = next()
			if b.paths == nil && (more || task.Tree == nil) {
				b.paths = claims.New()
				b.paths.Folds = b.spellings.Folds
			}
			j := &job{Task: &task, listed: -1}
			if err := task.check(); err != nil {
				b.reject(j, task.Tree != nil, err)
				continue
			}
			if j.Tree != nil {
				b.plant(j)
			}
			if !b.claimPath(j) {
				continue
			}
			found := b.found(j, j.url().Address())
			found.Last = !more
			if !yield(found) {
				return
			}
		}
	}
}

// check returns an error if the task is wrong whatever the other tasks are.
func (t *Task) check() error {
	switch {
	case t.err != nil:
		return t.err
	case len(t.URLs) == 0 || slices.Contains(t.URLs, nil):
		return errors.New("the task has no URL, or one that is nil: write one in Task.URLs")
	case t.Tree == nil:
		return nil
	case t.Writer != nil:
		return errors.New("a tree cannot go to a Writer: leave out one of the two")
	}
	return t.Tree.check()
}

// plant makes j the job for the directory of a tree. Unless the URL ends in "/" or ";type=d", it may name a file.
func (b *engine) plant(j *job) {
	u := j.url()
	j.dir = &node{root: u.Child("", ""), survey: new(survey), guess: !u.IsDir(), kind: u.Type}
	j.URLs = []*urlparse.URL{j.dir.root}
	j.dir.survey.contest = newContest(j)
	b.trees = append(b.trees, j)
}

// reject ends a task that is not queued. dir means that it is a directory.
func (b *engine) reject(j *job, dir bool, err error) {
	b.count(func(c *counts) {
		if dir {
			c.Unlisted++
		} else {
			c.file(0)
		}
	})
	e := j.ending(err)
	e.dir = dir
	b.ended(e)
}

// claimPath reports whether to queue a job. Of two files with the same path it admits only the first. It ignores the
// second if that has the same URL and adds no size or digest, and otherwise reports it as failed. A run that only shows
// files (Info) needs no paths.
func (b *engine) claimPath(j *job) bool {
	if b.paths == nil || b.Info != nil || j.dir != nil || j.Task != nil && j.Writer != nil {
		return true
	}
	settled := *j
	settled.makeTask()
	b.meet(settled.Path)
	facts := settled.Sum.String()
	if settled.Size != nil {
		facts += fmt.Sprint(" ", *settled.Size)
	}
	who := int32(b.paths.Hash(settled.url().String())>>1) | 1
	mine := claims.Claim{Who: who, What: b.paths.Hash(facts)}
	first, clash := b.paths.Add(settled.Path, mine)
	switch {
	case clash == claims.None:
		return true
	case clash != claims.Same || first.Who != mine.Who || facts != "" && first.What != mine.What:
		reason := "its path " + clash.With("an earlier one of this run")
		b.reject(&settled, false, &localfile.Error{Path: settled.Path, Reason: reason, Err: localfile.ErrTaken})
	}
	return false
}

// found counts a job that is about to be queued for a server.
func (b *engine) found(j *job, host string) schedule.Job[*job] {
	b.count(func(c *counts) {
		if j.dir != nil {
			c.Listing++
		} else {
			c.file(j.size())
		}
	})
	return schedule.Job[*job]{Host: host, Value: j, Finds: j.dir != nil}
}
