//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// sample is one run of one command.
type sample struct {
	exit     time.Duration // from its start to its exit
	last     time.Duration // from its start to the last byte of a data connection
	controls int64         // control connections
}

// measure runs the row's command over l in a directory of its own, and verifies
// what the command retrieved.
func (b *bench) measure(ctx context.Context, w *row, l *link) (sample, error) {
	dir, err := b.workDir()
	if err != nil {
		return sample{}, err
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work")
	l.reset()
	words := w.job.words(w.client.lines[w.job.form], l.host())
	start := time.Now()
	stdout, err := b.command(ctx, dir, work, words, b.limit(w.job))
	s := sample{exit: time.Since(start), controls: l.controls.Load()}
	if err != nil {
		return s, err
	}
	s.last = time.Unix(0, l.lastData.Load()).Sub(start)
	if w.job.form == formList {
		err = b.tree.verifyList(work, stdout)
	} else {
		err = b.tree.verifyFiles(work, w.job.paths)
	}
	settle(ctx, l)
	return s, err
}

// limit returns when a client counts as hanging: none needs that many round trips.
func (b *bench) limit(j *job) time.Duration {
	const trips, tripsPerFile = 60, 20
	return b.settings.timeout + time.Duration(trips+tripsPerFile*len(j.paths))*b.settings.rtt
}

// workDir makes an empty home directory with a work directory in it, which holds
// only the authority's certificate.
func (b *bench) workDir() (string, error) {
	dir, err := os.MkdirTemp(b.settings.inside, "run-")
	if err != nil {
		return "", err
	}
	ca, err := os.ReadFile(b.server.path(caFile))
	if err != nil {
		return "", err
	}
	return dir, writeFile(filepath.Join(dir, "work", caFile), ca)
}

// command runs words without the user's settings: no start-up files, no proxies,
// no terminal.
func (b *bench) command(ctx context.Context, home, work string, words []string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = work, &stdout, &stderr
	cmd.Env = []string{"HOME=" + home, "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.Bytes(), nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("not done after %s", limit)
	}
	text := strings.TrimSpace(stderr.String() + stdout.String())
	return nil, fmt.Errorf("%w: %s", err, lastLine(text))
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
