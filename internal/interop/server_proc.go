//go:build linux

package interop

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// descendants returns the current descendants of the given processes, from /proc. vsftpd makes every session the leader of
// its own process group.
func descendants(pids []int) []int {
	children := childrenByParent()
	var all []int
	for next := slices.Clone(pids); len(next) > 0; next = next[1:] {
		all = append(all, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return all
}

func childrenByParent() map[int][]int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	children := make(map[int][]int)
	for _, stat := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if parent, ok := parentOf(stat); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	return children
}

// parentOf reads the fourth field of /proc/PID/stat. The second is the command in parentheses and may hold anything, so
// parentOf counts the fields after it.
func parentOf(stat string) (pid int, ok bool) {
	text, err := os.ReadFile(stat)
	if err != nil {
		return 0, false // it ended in the meantime
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	pid, err = strconv.Atoi(string(fields[1]))
	return pid, err == nil
}
