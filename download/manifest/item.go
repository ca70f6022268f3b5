package manifest

import (
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/urlparse"
)

// Item is one file of many: where it comes from, where it goes, and what is
// known about it in advance.
type Item struct {
	URLs []*urlparse.URL // places of the same file, in the order to try them; at least one
	Path string          // where to save it, below the output directory, with "/" between its components
	Size *int64          // in bytes; nil means unknown
	Sum  digest.Sum      // the zero value means unknown
	// ModTime is when the file was last modified on its server, to the second; zero
	// means unknown. It decides about Newer of download.Options, without asking the server.
	ModTime time.Time
	Line    int // the line of the list that names it, from 1; 0 if no list does
}
