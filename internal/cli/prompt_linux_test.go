package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
)

// openTerminal opens a pseudo-terminal. Writing to keyboard types; reading from it returns what the terminal shows.
func openTerminal(t *testing.T) (keyboard *os.File, c *show.Console) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, &show.Console{In: tty, Out: tty}
}

// shown reads from keyboard until the terminal has shown want.
func shown(t *testing.T, keyboard io.Reader, want string) {
	t.Helper()
	var got bytes.Buffer
	one := make([]byte, 1)
	for !bytes.Contains(got.Bytes(), []byte(want)) {
		if _, err := keyboard.Read(one); err != nil {
			t.Fatalf("the terminal showed %q, then %v; want %q", got.String(), err, want)
		}
		got.Write(one)
	}
}

// state returns the terminal's current mode.
func state(t *testing.T, c *show.Console) *term.State {
	t.Helper()
	s, err := term.GetState(int(c.In.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// person returns the logins of a run whose only source is the person at a terminal.
func person(open func() (*show.Console, error)) *logins {
	l := newLogins(&config.Config{Netrc: config.NoNetrc}, nil, func(f func()) { f() })
	l.open = open
	return l
}

func TestPromptCanceled(t *testing.T) {
	keyboard, c := openTerminal(t)
	before := state(t, c)
	ctx, cancel := context.WithCancelCause(t.Context())
	p := person(func() (*show.Console, error) { return c, nil })
	failed := make(chan error)
	go func() {
		_, err := p.supply(ctx, "h\x1b", "me", "password")
		failed <- err
	}()
	shown(t, keyboard, `Password for me at h\x1b: `)
	for reflect.DeepEqual(state(t, c), before) {
		runtime.Gosched() // until the echo is off
	}
	cause := &SignalError{os.Interrupt}
	cancel(cause)
	if err := <-failed; !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if !reflect.DeepEqual(state(t, c), before) {
		t.Error("the terminal is left without echo")
	}
}

func TestPromptRemembers(t *testing.T) {
	opened := 0
	var keyboard *os.File
	p := person(func() (*show.Console, error) {
		opened++
		k, c := openTerminal(t)
		keyboard = k
		_, err := keyboard.WriteString("secret\n")
		return c, err
	})
	for _, want := range []struct {
		host   string
		opened int
	}{{"a", 1}, {"a", 1}, {"b", 2}} {
		got, err := p.supply(t.Context(), want.host, "me", "password")
		if got != "secret" || err != nil || opened != want.opened {
			t.Errorf("%s: got %q, %v, asked %d times, want %d", want.host, got, err, opened, want.opened)
		}
	}
	p.forget()
	if _, err := p.supply(t.Context(), "a", "me", "password"); err != nil || opened != 3 {
		t.Errorf("after forget: %v, asked %d times", err, opened)
	}
}

// TestPromptEnd checks that Ctrl-D gives no password and Enter an empty one.
func TestPromptEnd(t *testing.T) {
	for _, tt := range []struct {
		typed, want string
		err         error
		text        string
	}{
		{typed: "\n"},
		{typed: "secret\n", want: "secret"},
		{typed: "sec\x04ret\x04\x04", want: "secret"},
		{typed: "\x04", err: ftpexec.ErrNoCredentials, text: "no password was typed"},
	} {
		keyboard, c := openTerminal(t)
		before := state(t, c)
		tty, err := os.Open(c.In.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keyboard.WriteString(tt.typed); err != nil {
			t.Fatal(err)
		}
		p := person(func() (*show.Console, error) { return c, nil })
		got, err := p.supply(t.Context(), "h", "me", "password")
		if got != tt.want || !errors.Is(err, tt.err) || err != nil && !strings.HasSuffix(err.Error(), ": "+tt.text) {
			t.Errorf("%q: got %q, %v, want %q, %v", tt.typed, got, err, tt.want, tt.err)
		}
		if !reflect.DeepEqual(state(t, &show.Console{In: tty, Out: tty}), before) {
			t.Errorf("%q: the terminal is left without echo", tt.typed)
		}
		tty.Close()
	}
}

func TestAccount(t *testing.T) {
	none := func() (*show.Console, error) { return nil, errors.New("no terminal") }
	p := person(none)
	if _, err := p.supply(t.Context(), "h", "me", "account"); !errors.Is(err, ftpexec.ErrNoCredentials) {
		t.Errorf("got %v, want ErrNoCredentials", err)
	}
}
