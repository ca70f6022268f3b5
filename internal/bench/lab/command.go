//go:build linux

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Command is one run of a client, without the user's settings: no start-up files,
// no proxies, no terminal.
type Command struct {
	Words []string
	Home  string        // an empty directory
	Work  string        // the directory to run in
	Limit time.Duration // after which it counts as hanging
}

// Outcome is what a run took and left.
type Outcome struct {
	Elapsed   time.Duration
	Processor time.Duration // of the client, user and system
	Code      int           // -1 if a signal ended it
	Stdout    []byte
}

// Run runs the command. The outcome is valid with an error, too.
func (c Command) Run(ctx context.Context) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.Words[0], c.Words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Work, &stdout, &stderr
	cmd.Env = []string{"HOME=" + c.Home, "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	cmd.WaitDelay = time.Second
	start := time.Now()
	err := cmd.Run()
	o := Outcome{Elapsed: time.Since(start), Code: -1, Stdout: stdout.Bytes()}
	if p := cmd.ProcessState; p != nil {
		o.Code, o.Processor = p.ExitCode(), p.UserTime()+p.SystemTime()
	}
	switch {
	case err == nil:
		return o, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return o, fmt.Errorf("not done after %s", c.Limit)
	}
	return o, fmt.Errorf("%w: %s", err, lastLine(strings.TrimSpace(stderr.String()+stdout.String())))
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// ProgramVersion returns the first line that a program prints for --version.
// ncftpget does not have that option, but prints its version anyway.
func ProgramVersion(ctx context.Context, program string) string {
	out, _ := exec.CommandContext(ctx, program, "--version").CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(line)
}
