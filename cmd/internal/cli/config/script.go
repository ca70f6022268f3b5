package config

import (
	"path"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

var (
	// ofScript matches a script of lftp's -e or -c that begins with one of the commands that script knows.
	ofScript = lazy.Regexp(`^\s*(open|set|user|cd|lcd|get|mget|pget|mirror|ls|nlist|cls|cat|du|find)(\s|;|$)`)
	// notSimple matches words of a script whose meaning depends on lftp's own rules of quoting.
	notSimple = lazy.Regexp(`["'\\|<>$&]`)
	// ofSets matches the settings that need nothing here, and the one that is --insecure.
	ofSets = lazy.Regexp(
		`^(ftp:(ssl-allow|passive-mode|use-feat|list-options|prefer-epsv)|cmd:\S+|ssl:verify-certificate) \S+$`)
	listing = lazy.Regexp(`^(ls|nlist|cls|du|find)$`)
	// remotePath matches paths that are written in a URL as they are.
	remotePath = lazy.Regexp(`^[A-Za-z0-9._/*?~+,=@-]+$`)
)

// script is what a script of lftp asks for: one command, on one host.
type script struct {
	host, port, dir, local, user string
	flags                        []string
	command                      []string // the verb and its arguments
}

// scripted returns the arguments that mean what a script of lftp does, as in lftp -e 'mirror /pub; quit' HOST: the command
// with whole URLs. It returns nil if args have no script, or one that does more.
func scripted(args []string) []string {
	s := &script{}
	text, ok := s.read(args)
	text = strings.ReplaceAll(text, "&&", ";")
	if !ok || notSimple().MatchString(text) {
		return nil
	}
	for statement := range strings.SplitSeq(text, ";") {
		words := strings.Fields(statement)
		if len(words) > 0 && !s.obey(words[0], words[1:]) {
			return nil
		}
	}
	return s.args()
}

// read takes in the command line, and returns the script in it. ok means that there is one, and nothing else that counts.
func (s *script) read(args []string) (text string, ok bool) {
	for i := 0; i < len(args); i++ {
		arg, value := args[i], ""
		if i+1 < len(args) && isFlag(arg) {
			i++
			value = args[i]
		}
		switch {
		case (arg == "-e" || arg == "-c") && ofScript().MatchString(value):
			text += value + ";"
		case arg == "-u":
			s.user, _, _ = strings.Cut(value, ",")
		case arg == "-p" && number().MatchString(value):
			s.port = value
		case isFlag(arg) || s.host != "":
			return "", false
		default:
			s.host = arg
		}
	}
	return text, text != ""
}

// obey takes in a command of the script. It reports whether the script still means one command.
func (s *script) obey(verb string, args []string) bool {
	one := ""
	if len(args) == 1 {
		one = args[0]
	}
	switch verb {
	case "quit", "bye", "exit":
		return len(args) == 0
	case "set":
		return s.set(strings.Join(args, " "))
	case "open":
		s.host = one
		return one != ""
	case "user":
		s.user = append(args, "")[0]
		return s.user != ""
	case "cd":
		s.dir = path.Join(s.dir, one)
		return one != "" && s.command == nil
	case "lcd":
		s.local = one
		return one != "" && s.command == nil
	}
	known := s.command == nil && ofScript().MatchString(verb)
	s.command = append([]string{verb}, args...)
	return known
}

// set takes in a setting.
func (s *script) set(setting string) bool {
	if value, is := strings.CutPrefix(setting, "ssl:verify-certificate "); is && denied().MatchString(value) {
		s.flags = append(s.flags, "--insecure")
	}
	return ofSets().MatchString(setting)
}

// takesWord are the flags of the commands that a word follows.
var takesWord = []string{"-o", "-O", "-n", "-P", "-x", "-X", "-i", "-I"}

// args returns the arguments of the command that the script means, or nil.
func (s *script) args() []string {
	if s.command == nil {
		return nil
	}
	verb, rest := s.command[0], s.command[1:]
	args := append([]string{verb}, s.flags...)
	if s.user != "" {
		args = append(args, "-u", s.user)
	}
	if s.local != "" {
		args = append(args, "-d", s.local)
	}
	isPath := func(word string) bool { return !isFlag(word) }
	if !slices.ContainsFunc(rest, isPath) { // the directory
		rest = append(rest, "")
	}
	urls := 0
	for i, word := range rest {
		value := i > 0 && slices.Contains(takesWord, rest[i-1])
		place := verb == "mirror" && urls == 1
		if !isFlag(word) && !value && !place {
			word = s.url(word, verb)
			urls++
		}
		if word == "" {
			return nil
		}
		args = append(args, word)
	}
	return args
}

// url returns the URL of a path on the host, or "" if it is not certain.
func (s *script) url(name, verb string) string {
	if urlStart().MatchString(name) {
		return name
	}
	scheme, host, found := strings.Cut(s.host, "://")
	if !found {
		scheme, host = "ftp", s.host
	}
	host, below, _ := strings.Cut(host, "/")
	if s.port != "" && s.port != "21" {
		host += ":" + s.port
	}
	whole := s.path(name, below)
	if host == "" || whole != "/" && !remotePath().MatchString(strings.Replace(whole, "%2F", "", 1)) {
		return ""
	}
	lists := listing().MatchString(verb) && !strings.ContainsAny(whole, "*?")
	if whole != "/" && (strings.HasSuffix(name, "/") || lists) {
		whole += "/"
	}
	return scheme + "://" + host + whole
}

// path returns the path of the URL for a name, which begins in the directory of the script or, if there is none, below
// that of its URL.
func (s *script) path(name, below string) string {
	if !strings.HasPrefix(name, "/") {
		name = path.Join(s.dir, name)
	}
	switch {
	case !strings.HasPrefix(name, "/"):
		return path.Join("/", below, name)
	case s.user != "": // below the root, not below the directory of the login
		return "/%2F" + path.Clean(name)[1:]
	}
	return path.Clean(name)
}
