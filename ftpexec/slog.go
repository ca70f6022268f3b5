package ftpexec

import (
	"context"
	"log/slog"

	"example.com/ftpfetch/internal/printable"
)

// SlogTrace returns a function for Client.Trace that writes every event to l: commands and replies at
// [slog.LevelDebug], notes at [slog.LevelInfo]. The message is "ftp". The attributes are those of [Event]: kind
// ("command", "reply" or "note"), text, server, conn if it is not 0, and for a command flight. The text is escaped as
// [Error] escapes it, so that it is safe in every format. No record contains a password.
func SlogTrace(l *slog.Logger) func(Event) {
	return func(e Event) {
		ctx, level := context.Background(), slog.LevelDebug
		if e.Kind == EventNote {
			level = slog.LevelInfo
		}
		if !l.Enabled(ctx, level) {
			return
		}
		attrs := []slog.Attr{slog.String("kind", e.Kind.String()), slog.String("text", printable.Line(e.Text)), slog.String("server", e.Server)}
		if e.Conn > 0 {
			attrs = append(attrs, slog.Int("conn", e.Conn))
		}
		if e.Kind == EventCommand {
			attrs = append(attrs, slog.Int("flight", e.Flight))
		}
		l.LogAttrs(ctx, level, "ftp", attrs...)
	}
}
