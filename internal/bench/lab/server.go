//go:build linux

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Server is an FTP server of a [Site]. Its files are named after its port.
type Server struct {
	Port int

	site      *Site
	program   string
	args      []string
	libraries string // LD_LIBRARY_PATH for it; may be ""
}

func (s *Site) server(file string, port int) (*Server, error) {
	program, libraries, err := findServer(file)
	return &Server{Port: port, site: s, program: program, libraries: libraries}, err
}

func (v *Server) path(kind string) string { return v.site.Path(fmt.Sprintf("%d.%s", v.Port, kind)) }

// LogFile returns the path of the log, if the server writes one.
func (v *Server) LogFile() string { return v.path("log") }

// Serve starts the servers in the namespaces of the calling thread.
func (s *Site) Serve(servers ...*Server) error {
	if err := s.mount(); err != nil {
		return err
	}
	for _, v := range servers {
		if err := v.start(); err != nil {
			return err
		}
	}
	return nil
}

func (v *Server) start() error {
	// vsftpd reports its own failures to file descriptor 0.
	out, err := os.OpenFile(v.path("out"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(v.program, v.args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = out, out, out, v.environment()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		err := cmd.Wait()
		text, _ := os.ReadFile(v.path("out"))
		v.site.exited <- fmt.Errorf("%s on port %d ended: %v: %s", filepath.Base(v.program), v.Port, err, bytes.TrimSpace(text))
	}()
	return nil
}

func (v *Server) environment() []string {
	if v.libraries == "" {
		return os.Environ()
	}
	return append(os.Environ(), "LD_LIBRARY_PATH="+v.libraries)
}

// AwaitReady waits until the servers answer at host.
func (s *Site) AwaitReady(ctx context.Context, host string, servers ...*Server) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, v := range servers {
		if err := s.awaitPort(ctx, host, v.Port, tick.C); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) awaitPort(ctx context.Context, host string, port int, again <-chan time.Time) error {
	for {
		_, err := Handshake(ctx, host, port)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer on port %d: %w", port, err)
		case err := <-s.exited:
			return err
		case <-again:
		}
	}
}

// Failed returns an error if a server has ended.
func (s *Site) Failed() error {
	select {
	case err := <-s.exited:
		return err
	default:
		return nil
	}
}
