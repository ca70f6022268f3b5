//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// start starts both servers in the namespaces of the calling thread.
func (s *server) start() error {
	for _, name := range []string{"clear", "tls"} {
		if err := s.startOne(name); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) startOne(name string) error {
	// vsftpd reports its own failures to file descriptor 0.
	out, err := os.OpenFile(s.path(name+".out"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(s.program, s.path(name+".conf"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = out, out, out, s.environment()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		err := cmd.Wait()
		text, _ := os.ReadFile(s.path(name + ".out"))
		s.exited <- fmt.Errorf("vsftpd (%s) ended: %v: %s", name, err, bytes.TrimSpace(text))
	}()
	return nil
}

// version returns the version that vsftpd prints, on file descriptor 0.
func (s *server) version(ctx context.Context) (string, error) {
	out, err := os.Create(s.path("version.out"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	cmd := exec.CommandContext(ctx, s.program, "-v")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = out, out, out, s.environment()
	// Its exit code is the same with and without a failure.
	_ = cmd.Run()
	text, err := os.ReadFile(out.Name())
	return string(bytes.TrimSpace(text)), err
}

func (s *server) environment() []string {
	if s.libraries == "" {
		return os.Environ()
	}
	return append(os.Environ(), "LD_LIBRARY_PATH="+s.libraries)
}

// awaitReady waits until both servers answer at host.
func (s *server) awaitReady(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, port := range []int{clearPort, tlsPort} {
		if err := s.awaitPort(ctx, host, port, tick.C); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) awaitPort(ctx context.Context, host string, port int, again <-chan time.Time) error {
	for {
		_, err := handshake(ctx, host, port)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("vsftpd does not answer on port %d: %w", port, err)
		case err := <-s.exited:
			return err
		case <-again:
		}
	}
}

// tlsVersion returns the TLS versions and ciphers that the server logged, each
// once.
func (s *server) tlsVersion() string {
	log, err := os.ReadFile(s.path(fmt.Sprintf("%d.log", tlsPort)))
	if err != nil {
		return ""
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`SSL version: ([^,"]+), SSL cipher: ([^,"]+)`).FindAllSubmatch(log, -1) {
		found[string(m[1])+" "+string(m[2])] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}
