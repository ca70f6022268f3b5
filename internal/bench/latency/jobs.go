//go:build linux

package latency

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/bench/lab"
)

// form is the shape of a command line that a job asks for.
type form string

const (
	formFile form = "file"
	formTLS  form = "TLS"
	formList form = "list"
	formMany form = "many"
)

// job is one case: something to fetch in one invocation of a client.
type job struct {
	number int
	title  string
	form   form
	login  bool // with user name and password; otherwise anonymous
	paths  []string
}

// jobs returns the cases. With anonymousOnly, TLS is measured with an anonymous
// user, and there is no case with a password.
func jobs(t *tree, anonymousOnly bool) []*job {
	deep := []string{deepFile}
	all := []*job{
		{1, "One file three directories deep, anonymous", formFile, false, deep},
		{2, "The same with user name and password, unencrypted", formFile, true, deep},
		{3, "The same over explicit TLS 1.3", formTLS, !anonymousOnly, deep},
		{4, fmt.Sprintf("The names in a directory of %d files, anonymous", len(t.many)), formList, false, nil},
		{5, fmt.Sprintf("%d files of %d bytes from one directory, one invocation, anonymous", len(t.many), fileSize), formMany, false, nil},
	}
	for _, name := range t.many {
		all[4].paths = append(all[4].paths, path.Join(manyDir, name))
	}
	if anonymousOnly {
		all = append(all[:1], all[2:]...)
	}
	return all
}

// url returns the URL of p on host.
func (j *job) url(scheme, host, p string) string {
	if j.login {
		host = lab.UserName + ":" + lab.UserPassword + "@" + host
	}
	if j.form == formTLS {
		host += ":" + strconv.Itoa(tlsPort)
	}
	return scheme + "://" + host + "/" + p
}

// words returns the command line of a template. Inside a word, {url} is the URL
// to fetch (for a directory, with its final slash), {ftps} and {ftpes} are the
// same with the schemes that clients have for explicit TLS, {host} is the
// address, {dir} the directory of many files, {names} their names and {ca} the
// authority's certificate. As words of their own, {urls} and {paths} become one
// word per file.
func (j *job) words(template []string, host string) []string {
	target := manyDir + "/"
	if len(j.paths) > 0 {
		target = j.paths[0]
	}
	r := strings.NewReplacer(
		"{url}", j.url("ftp", host, target), "{ftps}", j.url("ftps", host, target), "{ftpes}", j.url("ftpes", host, target),
		"{host}", host, "{dir}", manyDir, "{ca}", lab.CAFile, "{names}", strings.Join(j.names(), " "))
	var words []string
	for _, word := range template {
		switch word {
		case "{paths}":
			words = append(words, j.paths...)
		case "{urls}":
			for _, p := range j.paths {
				words = append(words, j.url("ftp", host, p))
			}
		default:
			words = append(words, r.Replace(word))
		}
	}
	return words
}

func (j *job) names() []string {
	var names []string
	for _, p := range j.paths {
		names = append(names, path.Base(p))
	}
	return names
}
