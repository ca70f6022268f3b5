// Package night says how much the long tests do: a sample by day, everything in .ci/run night.
package night

import "os"

// Or returns night if the environment has FTPFETCH_NIGHT, else day.
func Or(day, night int) int {
	if os.Getenv("FTPFETCH_NIGHT") != "" {
		return night
	}
	return day
}
