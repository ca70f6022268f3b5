package download

import (
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// progressInterval is the time between two calls of Options.Progress,
// checkpointInterval that between two journals.
const (
	progressInterval   = 100 * time.Millisecond
	checkpointInterval = time.Second
)

// orDefault gives a nil Options and fields left zero their meaning, on a copy.
// src is the first source.
func (o *Options) orDefault(src Source) *Options {
	var c Options
	if o != nil {
		c = *o
	}
	switch {
	case c.Retries == 0:
		c.Retries = DefaultRetries
	case c.Retries < 0:
		c.Retries = 0
	}
	if c.Wait == nil {
		c.Wait = sleep
	}
	if c.checkpoint == 0 {
		c.checkpoint = checkpointInterval
	}
	if client, ok := src.(*ftpexec.Client); ok && c.Parallel == nil {
		c.Parallel = client
	}
	if notify := c.Notify; notify != nil {
		var one sync.Mutex
		c.Notify = func(e Event) { one.Lock(); defer one.Unlock(); notify(e) }
	}
	return &c
}

func (o *Options) notify(e Event) {
	if o.Notify != nil {
		o.Notify(e)
	}
}

// restarted tells that what path holds is given up.
func (o *Options) restarted(path, why string) {
	o.notify(Event{Kind: Restarted, Text: path + ": " + why + ": beginning anew"})
}

func (o *Options) note(text string) { o.notify(Event{Kind: Noted, Text: text}) }

// report calls Progress with what count returns now and then, until the
// returned function is called. It reads counters: nothing stands in the way of
// the data.
func (o *Options) report(count func() (done, total int64)) (stop func()) {
	if o.Progress == nil {
		return func() {}
	}
	o.Progress(count())
	end := every(progressInterval, func() { o.Progress(count()) })
	return func() { end(); o.Progress(count()) }
}
