//go:build linux

package lab

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Machine describes what the benchmark runs on: processors, memory and kernel.
func Machine() string {
	var s unix.Sysinfo_t
	var u unix.Utsname
	_, _ = unix.Sysinfo(&s), unix.Uname(&u) // an empty answer shows
	return fmt.Sprintf("%d processors (%s), %.0f GiB of memory, Linux %s, %s",
		runtime.NumCPU(), processor(), float64(s.Totalram)*float64(s.Unit)/(1<<30), unix.ByteSliceToString(u.Release[:]), runtime.GOARCH)
}

// processor returns the model of the first processor.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown"
}
