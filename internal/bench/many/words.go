//go:build linux

package many

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/bench/lab"
)

// Files with the list of a job, in a client's home directory.
const (
	urlList  = "urls"  // a URL a line
	pathList = "paths" // a path from the job's directory a line, for rclone
	curlList = "curl"  // a curl configuration
	lftpList = "lftp"  // lftp commands that put every file into the queue
)

// writeLists writes the list of the job in the form of each client.
func (j *job) writeLists(home string, connections int) error {
	var urls, paths, curl, lftp strings.Builder
	fmt.Fprintf(&lftp, "set cmd:queue-parallel %d\nopen %s\n", connections, j.base())
	for _, name := range j.files.names {
		fmt.Fprintln(&urls, j.base()+name)
		fmt.Fprintln(&paths, name)
		fmt.Fprintf(&curl, "url = %q\noutput = %q\n", j.base()+name, path.Base(name))
		fmt.Fprintln(&lftp, "queue get "+name)
	}
	fmt.Fprintln(&lftp, "wait all")
	for name, b := range map[string]*strings.Builder{urlList: &urls, pathList: &paths, curlList: &curl, lftpList: &lftp} {
		if err := lab.WriteFile(filepath.Join(home, name), []byte(b.String())); err != nil {
			return err
		}
	}
	return nil
}

// words returns the command line of a template. Inside a word, {n} is the cap of
// connections, {base} the URL of the directory, {url} that of its first file,
// {host} and {port} the server, {dir} the directory and {home} the directory of
// the lists. {paths} as a word of its own becomes one word per file.
func (j *job) words(template []string, home string, connections int) []string {
	r := strings.NewReplacer("{n}", strconv.Itoa(connections), "{base}", j.base(), "{url}", j.base()+j.files.names[0],
		"{host}", j.host(), "{port}", strconv.Itoa(j.port), "{dir}", j.files.dir, "{home}", home)
	var words []string
	for _, word := range template {
		if word == "{paths}" {
			for _, name := range j.files.names {
				words = append(words, j.files.dir+"/"+name)
			}
			continue
		}
		words = append(words, r.Replace(word))
	}
	return words
}
