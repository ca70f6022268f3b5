// Command logged reads the files that it is given, and saves none. It logs with log/slog what happens on the
// connections, a line for each event with its facts, and at the end what each server has seen.
//
//	logged ftp://ftp.example.org/pub/a ftp://ftp.example.org/pub/b
package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"

	"example.com/ftpfetch/ftpexec"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := read(ctx, slog.New(slog.NewJSONHandler(os.Stderr, nil)), os.Args[1:]); err != nil {
		os.Exit(1)
	}
}

// read reads the files at the URLs, and logs what happens.
func read(ctx context.Context, log *slog.Logger, urls []string) error {
	c := ftpexec.Client{Trace: events(log)}
	defer c.CloseIdleConnections()
	var failed error
	for n, url := range urls {
		here := log.With("file", n) // not url, which may hold a password
		r, err := c.Get(ftpexec.WithTrace(ctx, files(here)), url)
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
			r.Body.Close()
		}
		if err != nil {
			log.Error("failed", "err", err)
		}
		failed = errors.Join(failed, err)
	}
	for _, s := range c.Stats() {
		log.Info("server", "address", s.Address, "connections", s.Connections, "logins", s.Logins)
	}
	return failed
}

// events returns what logs the events of all connections.
func events(log *slog.Logger) *ftpexec.Trace {
	return &ftpexec.Trace{
		GotConn: func(i ftpexec.ConnInfo) {
			log.Info("connection", "conn", i.Conn, "remote", i.Remote, "reused", i.Reused)
		},
		Command: func(i ftpexec.CommandInfo) { log.Debug("command", "conn", i.Conn, "text", i.Text) },
		Reply:   func(i ftpexec.ReplyInfo) { log.Debug("reply", "conn", i.Conn, "code", i.Code, "lines", i.Lines) },
		Retry:   func(i ftpexec.RetryInfo) { log.Warn("retry", "conn", i.Conn, "err", i.Err) },
		Note:    func(i ftpexec.NoteInfo) { log.Info("note", "conn", i.Conn, "text", i.Text) },
		Closed:  func(i ftpexec.ClosedInfo) { log.Info("closed", "conn", i.Conn, "err", i.Err) },
	}
}

// files returns what logs the transfers of one call.
func files(log *slog.Logger) *ftpexec.Trace {
	return &ftpexec.Trace{
		Transferred: func(i ftpexec.TransferInfo) {
			log.Info("transferred", "conn", i.Conn, "bytes", i.Bytes, "seconds", i.Duration.Seconds(), "err", i.Err)
		},
	}
}
