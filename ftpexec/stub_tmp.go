package ftpexec

import (
	"context"
	"iter"

	"example.com/ftpfetch/urlparse"
)

func (c *Client) StatAll(ctx context.Context, us []*urlparse.URL) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for _, u := range us {
			i, err := c.Stat(ctx, u)
			if err != nil {
				yield(Info{}, err)
				return
			}
			yield(*i, nil)
		}
	}
}
