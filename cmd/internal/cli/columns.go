package cli

import "example.com/ftpfetch/internal/lazy"

// columns matches what an error about a list says the map of its columns is.
var columns = lazy.Regexp(`\(set Options\.Map to (url=[\w.,=-]+)\)$`)

// tellColumns shows the command that reads a list whose columns are not clear, if the first error that names columns shows
// what they are.
func (r *run) tellColumns(wrong []error) {
	for _, err := range wrong {
		found := columns().FindStringSubmatch(err.Error())
		if found != nil && found[1] != "url=COLUMN" && r.Reading.Map == nil {
			r.print.Tell("as one command: ftpfetch --map " + found[1] + r.Written())
			return
		}
	}
}
