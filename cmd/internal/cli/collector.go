package cli

import (
	"runtime"
	"runtime/debug"
)

// Percentages for debug.SetGCPercent: how much the heap may grow before the garbage collector runs.
const (
	atFirst = 400 // of the least heap, 4 MiB: most runs end before 16 MiB
	doubled = 100 // as Go has it
	slowly  = 20
)

// fewFiles is below the number of files of a list whose memory counts.
const fewFiles = 20_000

// GrowSlowlyOnceLarge makes the garbage collector begin when the heap has 16 MiB, after which the heap may grow by a
// fifth. Most runs end before that. Nearly all of a large heap is a list that lives until the end: letting it double
// would cost memory and save little time. The settings are those of the process, so main calls it.
func GrowSlowlyOnceLarge() {
	debug.SetGCPercent(atFirst)
	first := new([64]byte) // garbage that the first collection finds
	runtime.AddCleanup(first, func(percent int) {
		if now := debug.SetGCPercent(percent); now != atFirst { // growFast has been called
			debug.SetGCPercent(now)
		}
	}, slowly)
}

// growFast lets the heap double for so few files: they take little memory, and it saves a seventh of the time of small
// files.
func growFast(files int64) {
	if uint64(files) < fewFiles { // a negative number is unknown
		debug.SetGCPercent(doubled)
	}
}
