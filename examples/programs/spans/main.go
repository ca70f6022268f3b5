// Command spans writes a file to standard output, and the spans of OpenTelemetry that its retrieval makes to standard
// error. They tell how often each server is dialled, how many round trips a retrieval takes, and how long its transfers.
//
//	spans ftp://ftp.example.org/pub/file
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"example.com/ftpfetch/ftpexec"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: spans URL")
		os.Exit(2)
	}
	exporter, err := stdouttrace.New(stdouttrace.WithWriter(os.Stderr))
	if err == nil {
		provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter))
		err = fetch(ctx, provider.Tracer("spans"), os.Args[1], os.Stdout)
		_ = provider.Shutdown(context.WithoutCancel(ctx))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "spans:", err)
		os.Exit(1)
	}
}

// client may be used for many retrievals at once: each has spans of its own.
var client ftpexec.Client

// fetch writes the file at url to w. It makes a span for the retrieval, with one below it for each transfer.
func fetch(ctx context.Context, tracer trace.Tracer, url string, w io.Writer) error {
	ctx, span := tracer.Start(ctx, "ftp retrieval", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	o := &observer{ctx: ctx, tracer: tracer, span: span}
	r, err := client.Get(ftpexec.WithTrace(ctx, o.trace()), url)
	if err == nil {
		_, err = io.Copy(w, r.Body)
		r.Body.Close()
	}
	span.SetAttributes(attribute.Int("ftp.round_trips", o.flights))
	record(span, err)
	return err
}

// observer makes spans and events of what one retrieval does.
type observer struct {
	ctx     context.Context
	tracer  trace.Tracer
	span    trace.Span
	flights int // writes of commands; each takes a round trip
}

func (o *observer) trace() *ftpexec.Trace {
	return &ftpexec.Trace{
		Wait: func(i ftpexec.WaitInfo) { o.event("wait", attribute.String("server.address", i.Address)) },
		GotConn: func(i ftpexec.ConnInfo) {
			o.event("connection", attribute.Int("ftp.connection", i.Conn), attribute.Bool("ftp.reused", i.Reused),
				attribute.String("server.address", i.Address))
		},
		Command: func(i ftpexec.CommandInfo) {
			if !i.Joined {
				o.flights++
			}
		},
		Transferred: func(i ftpexec.TransferInfo) {
			end := time.Now()
			_, span := o.tracer.Start(o.ctx, "ftp "+i.Verb, trace.WithTimestamp(end.Add(-i.Duration)),
				trace.WithAttributes(attribute.String("url.full", i.URL), attribute.Int64("ftp.bytes", i.Bytes),
					attribute.Int("ftp.connection", i.Conn)))
			record(span, i.Err)
			span.End(trace.WithTimestamp(end))
		},
		Retry: func(i ftpexec.RetryInfo) { o.event("retry", attribute.String("error", i.Err.Error())) },
	}
}

func (o *observer) event(name string, facts ...attribute.KeyValue) {
	o.span.AddEvent(name, trace.WithAttributes(facts...))
}

// record sets the status of a span.
func record(span trace.Span, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
}
