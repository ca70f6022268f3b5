// Package fetch is an example of code that needs an FTP server. Its test shows how to test such code with package
// testserver, without a network.
package fetch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"example.com/ftpfetch/ftpexec"
)

// maxMotd is how many bytes of a message of the day are read.
const maxMotd = 1000

// Motd returns the first line of the message of the day at rawURL.
func Motd(ctx context.Context, c *ftpexec.Client, rawURL string) (string, error) {
	r, err := c.Get(ctx, rawURL)
	if err != nil {
		return "", fmt.Errorf("message of the day: %w", err)
	}
	defer r.Body.Close()
	line, err := bufio.NewReader(io.LimitReader(r.Body, maxMotd)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("message of the day: %w", err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}
