package cli

import "example.com/ftpfetch/docs"

// documents holds the flags that print a text instead of retrieving anything.
type documents struct {
	version, man bool
	completion   shell
}

func (d *documents) documentFlags(fs group) {
	word(fs, &d.completion, "", "completion", "print the completion script for `bash|zsh|fish`")
	fs.BoolVar(&d.man, "man", false, "print the man page: ftpfetch --man | man -l -")
	fs.BoolVar(&d.version, "version", false, "print the version")
}

// document returns the text that the flags ask for instead of a run.
func (o *options) document() (text string, ok bool) {
	switch {
	case o.help:
		return helpText(), true
	case o.version:
		return versionText(), true
	case o.man:
		return docs.Man, true
	case o.completion != "":
		return o.completion.completion(), true
	}
	return "", false
}
