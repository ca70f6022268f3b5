// Command rclone is rclone with the local disk and "serve ftp" alone, which builds in seconds.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve"
	_ "github.com/rclone/rclone/cmd/serve/ftp"
)

func main() { cmd.Main() }
