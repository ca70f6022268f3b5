package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// attributes returns the attributes of a span by name.
func attributes(s tracetest.SpanStub) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

// TestSpans checks that each of many retrievals at once has its own spans.
func TestSpans(t *testing.T) {
	const files = 12
	tree := map[string]string{}
	for i := range files {
		tree[fmt.Sprint("/f", i)] = strings.Repeat("x", i)
	}
	s := testserver.New(t, &testserver.Options{Tree: tree, Users: map[string]string{"me": "s3cret"}})
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(exporter)).Tracer("test")
	t.Cleanup(client.CloseIdleConnections)
	var all sync.WaitGroup
	for i := range files {
		all.Go(func() {
			if err := fetch(t.Context(), tracer, s.URL(fmt.Sprint("me:s3cret@/f", i)), io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	parents, transfers := map[string]tracetest.SpanStub{}, 0
	for _, span := range exporter.GetSpans() {
		parents[span.SpanContext.SpanID().String()] = span
	}
	for _, span := range exporter.GetSpans() {
		facts := attributes(span)
		if shown := fmt.Sprint(facts, span.Events); strings.Contains(shown, "s3cret") {
			t.Error("a span shows the password: ", shown)
		}
		if span.Name != "ftp RETR" {
			if trips, _ := facts["ftp.round_trips"].(int64); trips < 2 || len(span.Events) == 0 {
				t.Errorf("a retrieval has %v and the events %v", facts, span.Events)
			}
			continue
		}
		transfers++
		url, _ := facts["url.full"].(string)
		if !strings.HasSuffix(url, fmt.Sprint("/f", facts["ftp.bytes"])) {
			t.Errorf("the transfer of another file: %v", facts)
		}
		parent := parents[span.Parent.SpanID().String()]
		if parent.Name != "ftp retrieval" || span.StartTime.Before(parent.StartTime) {
			t.Errorf("%v is below %q, which began at %v", facts, parent.Name, parent.StartTime)
		}
	}
	if transfers != files {
		t.Errorf("%d transfers, want %d", transfers, files)
	}
}

// TestFailure checks that the span of a retrieval that fails says so.
func TestFailure(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "x"}})
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(exporter)).Tracer("test")
	t.Cleanup(client.CloseIdleConnections)
	err := fetch(t.Context(), tracer, s.URL("/missing"), io.Discard)
	spans := exporter.GetSpans()
	if err == nil || len(spans) != 1 || spans[0].Status.Code != codes.Error {
		t.Errorf("%v, %+v", err, spans)
	}
}
