//go:build interop

package main

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestPage has Chromium show the page while a job is fetched. The page is loaded once, and events update it. With
// FLEET_SHOT set, it saves a picture.
func TestPage(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	stop, at, err := s.hub.servePage("127.0.0.1:0")
	must.Do(t, err)
	defer stop()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1200, 900))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	shows := func(what, id string, texts ...string) {
		t.Helper()
		eventually(t, what, func() bool {
			text := must.Get(chromedp.Run(ctx, chromedp.Text("#"+id)))(t)
			for _, want := range texts {
				if !strings.Contains(text, want) {
					return false
				}
			}
			return true
		})
	}
	must.Do(t, chromedp.Do(ctx, chromedp.Navigate(at)))
	shows("that there is no job", "state", "live")
	hold, open := gate()
	defer open()
	srv := newFTP(t, 20, 2, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && strings.HasSuffix(c.Arg, "000015") {
			<-hold
		}
		return nil
	}})
	id := s.want(0, "add", "--per-host", "2", srv.list(t, 20, srv.URL("/d/none")))
	_, end := s.starts("worker-1", t.TempDir(), "", 2)
	shows("the job", "jobs", id, "ready", " of 21")
	shows("the host and its slots", "hosts", srv.Addr(), "e", "2")
	shows("the worker", "workers", "worker-1", "2")
	shows("the failure", "failures", id, "78", srv.Addr(), "worker-1")
	if name := os.Getenv("FLEET_SHOT"); name != "" {
		picture := must.Get(chromedp.Run(ctx, chromedp.FullScreenshot(100)))(t)
		must.Do(t, os.WriteFile(name, picture, 0o600))
	}
	open()
	shows("the end of the job", "jobs", id, "done", "20 of 21")
	row := `const p = document.querySelector("progress"); [p.value, p.max, document.querySelector("#jobs a").href].join(" ")`
	if got, want := must.Get(chromedp.Run(ctx, chromedp.Evaluate[string](row)))(t), "21 21 "+at+"report/"+id; got != want {
		t.Errorf("progress and report are %s, want %s", got, want)
	}
	end()
	shows("that no worker is left", "workers", "rate")
	stop()
	shows("that nobody answers", "state", "trying again")
}
