//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"

	"example.com/ftpfetch/internal/bench/lab"
)

// straight runs the benchmark of package ftpexec that compares a transfer straight from the socket into a file with one
// through a buffer. args is how many pairs, as go test's -benchtime takes it.
func straight(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	words := append([]string{"test", "example.com/ftpfetch/ftpexec", "-run", "^$", "-bench", "Straight", "-benchtime"}, args...)
	out, err := exec.CommandContext(ctx, "go", words...).CombinedOutput()
	var values []string
	for _, unit := range []string{"straight-MB/cpu-s", "buffered-MB/cpu-s", "ratio"} {
		m := regexp.MustCompile(`([0-9.]+) ` + regexp.QuoteMeta(unit)).FindSubmatch(out)
		if err != nil || m == nil {
			fmt.Fprintf(stderr, "go test: %v, no %s\n%s", err, unit, out)
			return 1
		}
		values = append(values, string(m[1]))
	}
	fmt.Fprintf(stdout, "256 MiB from another process on loopback; medians of %s pairs. Machine: %s.\n\n", strings.TrimSuffix(args[0], "x"), lab.Machine())
	fmt.Fprintf(stdout, "| straight, MB per second of processor time | through a buffer | ratio |\n|--:|--:|--:|\n| %s |\n", strings.Join(values, " | "))
	return 0
}
