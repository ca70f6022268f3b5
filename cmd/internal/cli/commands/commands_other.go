//go:build !unix

package commands

import (
	"os"
	"os/exec"
	"syscall"
)

// There are no sessions and no signals on Windows: only the sh itself is ended.
func apart(*exec.Cmd)                      {}
func end(p *os.Process, _ syscall.Signal)  { _ = p.Kill() }
func signalName(s *os.ProcessState) string { return s.String() }

// Survive does nothing.
func Survive() {}
