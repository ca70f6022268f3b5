package download

import (
	"context"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// Get is [File] for the text of a URL, with a Client of its own: anonymous unless the URL has a login.
func Get(ctx context.Context, url, path string, o *Options) (Result, error) {
	u, err := urlparse.Parse(url)
	if err != nil {
		return Result{}, err
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	return File(ctx, &c, u, path, o)
}
