package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/urlparse"
)

// The hidden flags that the shell scripts use. The typed line comes on standard input, because it may hold a password
// and arguments are visible to all users.
const (
	completeFlag = "--complete"      // print what may follow the URL at the end of the line
	fillFlag     = "--complete=fill" // list the directory of the URL for the cache
)

const (
	completeTime = 220 * time.Millisecond // the shell waits for it; of 300 ms, the rest is for the start of the process
	fillTime     = 10 * time.Second       // for the server; a later answer serves the next try
	cacheTime    = time.Minute
	mostLine     = 1 << 16 // bytes of the typed line
	mostNames    = 2000    // entries of a directory that are offered
)

// typedLine is a line that ends in the beginning of a URL.
type typedLine struct {
	text string
	word string        // the last word of text
	part string        // what follows the last "/" of word
	dir  *urlparse.URL // the directory that precedes part
	run  *run          // made from the flags of the line
}

// complete carries out one of the hidden flags. It never prompts and shows no error, because the person is typing.
func complete(ctx context.Context, flag string, stdio IO) int {
	text, _ := io.ReadAll(io.LimitReader(stdio.In, mostLine))
	stdio.In = nil // so that nothing prompts
	stdio.Err = io.Discard
	t, ok := newTypedLine(string(text), stdio)
	dir, err := os.UserCacheDir()
	if !ok || err != nil {
		return exitOK
	}
	key := sha256.Sum256([]byte(t.run.Charset + " " + t.dir.WithoutPassword().String()))
	cache := filepath.Join(dir, "ftpfetch", fmt.Sprintf("names-%x", key[:16]))
	if flag == fillFlag {
		ctx, cancel := context.WithTimeout(ctx, fillTime)
		defer cancel()
		t.fill(ctx, cache)
		return exitOK
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	if !fresh(cache, cacheTime) {
		t.fillAside(cache)
	}
	for !fresh(cache, cacheTime) {
		if timing.Sleep(ctx, 5*time.Millisecond) != nil {
			return exitOK
		}
	}
	names, _ := os.ReadFile(cache)
	t.run.print.Print(t.offers(names))
	return exitOK
}

// newTypedLine reads what a person has typed: flags of the last command of the line, and the URL at its end.
func newTypedLine(text string, stdio IO) (t *typedLine, ok bool) {
	words := strings.Fields(text)
	begin := 0 // start of the last command: another command's login is not for this server
	for i, word := range words {
		if path.Base(word) == "ftpfetch" {
			begin = i + 1
		}
	}
	words = words[begin:]
	if len(words) == 0 || strings.HasSuffix(text, " ") {
		return nil, false
	}
	last := len(words) - 1
	t = &typedLine{text: text, word: words[last]}
	slash := strings.LastIndexByte(t.word, '/')
	u, err := urlparse.Parse(t.word[:slash+1])
	if err != nil {
		return nil, false
	}
	t.part = t.word[slash+1:]
	t.dir = u
	c, _ := config.Parse(append(words[:last:last], t.word[:slash+1])) // the line may be incomplete
	c.PasswordStdin = false
	c.Shared = false
	c.Verbose = false
	t.run = newRun(c, stdio)
	if !c.Client.AllowPort && u.BadPort() != nil || t.run.connect() != nil || t.run.completeURL(u) != nil {
		return nil, false
	}
	return t, true
}

// fresh reports whether a file is there and younger than age.
func fresh(file string, age time.Duration) bool {
	info, err := os.Stat(file)
	return err == nil && time.Since(info.ModTime()) < age
}

// fillAside has another process fill the cache, unless one already does. The process may outlast the shell's wait.
func (t *typedLine) fillAside(cache string) {
	program, err := os.Executable()
	if err != nil || fresh(cache+".new", fillTime) {
		return
	}
	filler := exec.Command(program)
	filler.Args = []string{os.Args[0], fillFlag}
	filler.Stdin = strings.NewReader(t.text)
	_ = filler.Start()
}

// fill writes the names in the directory to the cache. It writes an empty list if the directory cannot be listed, so
// that not every key press asks the server again.
func (t *typedLine) fill(ctx context.Context, cache string) {
	if os.MkdirAll(filepath.Dir(cache), 0o700) != nil {
		return
	}
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(cache), "names-*"))
	for _, file := range old {
		if !fresh(file, cacheTime) {
			_ = os.Remove(file)
		}
	}
	file, err := os.OpenFile(cache+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // another process fills it
	}
	_, err = file.Write(t.names(ctx))
	defer t.run.hangUp(ctx)
	if err == nil && file.Close() == nil {
		_ = os.Rename(file.Name(), cache)
	}
}

// names returns the names in the directory, one per line. The names of directories end in "/".
func (t *typedLine) names(ctx context.Context) []byte {
	var names bytes.Buffer
	n := 0
	for e, err := range t.run.source.Entries(ctx, t.dir) {
		name := path.Base(e.Name)
		if err != nil || strings.ContainsAny(name, "\r\n") {
			continue
		}
		if e.Mode.IsDir() {
			name += "/"
		}
		names.WriteString(name + "\n")
		n++
		if n == mostNames {
			break
		}
	}
	return names.Bytes()
}

// offers returns the words that the last one may become.
func (t *typedLine) offers(names []byte) []byte {
	begun, err := url.PathUnescape(t.part)
	if err != nil {
		return nil
	}
	var offers bytes.Buffer
	for name := range strings.Lines(string(names)) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(name, "\n"), begun)
		if ok && (begun != "" || !strings.HasPrefix(rest, ".")) {
			offers.WriteString(t.word + plain(rest) + "\n")
		}
	}
	return offers.Bytes()
}

// plain encodes the characters that have a meaning in a URL or in a shell.
func plain(name string) string {
	var text strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._+,/", c) >= 0 {
			text.WriteByte(c)
		} else {
			fmt.Fprintf(&text, "%%%02X", c)
		}
	}
	return text.String()
}
