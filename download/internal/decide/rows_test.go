package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// rows are single decisions: what Next asks, and what it answers.
var rows = []struct {
	what   string
	change func(w *world) // starts from a target with the server's size, 100 bytes, and time
	want   string
}{
	{"expected size, other", func(w *world) { w.Want = 150 }, "refuse other: exists with 100 bytes, not the expected 150"},
	{"expected size, Skip", func(w *world) { w.Want = 150; w.Existing = Skip }, "refuse size: exists with 100 bytes, not the expected 150"},
	{"expected size, Newer", func(w *world) { w.Want = 150; w.Existing = Newer; w.Local.Size = 90 }, "server part; replace"},
	{"expected size, Continue", func(w *world) { w.Want = 150; w.Existing = Continue; w.server.Size = 150 }, "server part; replace from target"},
	{"expected size, Newer, but the server's", func(w *world) { w.Want = 150; w.Existing = Newer }, "server; refuse size: exists with 100 bytes, not the expected 150"},
	{"expected size of nothing", func(w *world) { w.Want = 0 }, "refuse other: exists with 100 bytes, not the expected 0"},

	{"recorded", func(w *world) { w.Record = Fetched }, "leave: already there"},
	{"recorded, with pieces", func(w *world) { w.Record = Fetched; w.Pieces = "f.aria2" }, "refuse other: lacks pieces, as f.aria2 shows"},
	{"recorded, Verify", func(w *world) { w.Record = Fetched; w.Verify = true; w.right = true }, "server digest; leave: already there"},
	{"verified, Verify", func(w *world) { w.Record = Verified; w.Verify = true }, "leave: already there"},
	{"recorded, listed with another size", func(w *world) { w.Record = Fetched; w.Listed = Stamp{99, serverTime} }, "refuse exists: differs from the server's: 99 bytes there, 100 here"},
	{"recorded, listed as empty", func(w *world) { w.Record = Fetched; w.Listed = Stamp{0, serverTime} }, "refuse exists: differs from the server's: 0 bytes there, 100 here"},
	{"recorded, Newer", func(w *world) { w.Record = Fetched; w.Existing = Newer; w.server.Time = serverTime.Add(time.Hour) }, "server disk part; replace"},
	{"recorded, Newer, listed without a time", func(w *world) { w.Record = Fetched; w.Existing = Newer; w.Listed.Size = 100 }, "server; leave: already there"},
	{"recorded, Newer, listed without a size", func(w *world) { w.Record = Fetched; w.Existing = Newer; w.Listed.Time = serverTime }, "server; leave: already there"},
	{"recorded, Newer, listed", func(w *world) { w.Record = Fetched; w.Existing = Newer; w.Listed = Stamp{100, serverTime} }, "leave: already there"},
	{"recorded as empty, Newer, listed", func(w *world) {
		w.Record = Fetched
		w.Existing = Newer
		w.Local.Size = 0
		w.Listed = Stamp{0, serverTime}
	}, "leave: already there"},
	{"recorded, Newer, with a digest", func(w *world) { w.Record = Fetched; w.Existing = Newer; w.Given = true }, "leave: already there"},

	{"before, gone", func(w *world) { w.gone() }, "server; leave: fetched before"},
	{"before, gone, listed", func(w *world) { w.gone(); w.Listed = w.server }, "leave: fetched before"},
	{"before, gone, listed without a time", func(w *world) { w.gone(); w.Listed.Size = 100 }, "server; leave: fetched before"},
	{"before, gone, listed without a size", func(w *world) { w.gone(); w.Listed.Time = serverTime }, "server; leave: fetched before"},
	{"before, gone, with a digest", func(w *world) { w.gone(); w.Given = true }, "leave: fetched before"},
	{"before, gone, longer", func(w *world) { w.gone(); w.server.Size++ }, "server part; fetch"},
	{"before, gone, listed longer", func(w *world) { w.gone(); w.Listed.Size = 101 }, "part; fetch"},
	{"before, gone, newer", func(w *world) { w.gone(); w.server.Time = serverTime.Add(time.Second) }, "server part; fetch"},
	{"before, gone, newer by the slack", func(w *world) { w.gone(); w.server.Time = serverTime.Add(time.Second - 1) }, "server; leave: fetched before"},
	{"before, gone, older", func(w *world) { w.gone(); w.server.Time = serverTime.Add(-time.Second) }, "server part; fetch"},
	{"before, gone, listed newer", func(w *world) { w.gone(); w.Listed = Stamp{100, serverTime.Add(time.Hour)} }, "part; fetch"},
	{"before, gone, no time", func(w *world) { w.gone(); w.server.Time = time.Time{} }, "server; leave: fetched before"},
	{"before, gone, the server tells nothing", func(w *world) { w.gone(); w.server = Unknown }, "server; leave: fetched before"},
	{"before, gone, as text", func(w *world) { w.gone(); w.Text = true; w.server.Size = 90 }, "server; leave: fetched before"},
	{"before, gone, Newer", func(w *world) { w.gone(); w.Existing = Newer }, "server; leave: fetched before"},
	{"before, gone, Skip", func(w *world) { w.gone(); w.Existing = Skip }, "server; leave: fetched before"},
	{"before, and here", func(w *world) { w.gone(); w.Here = Regular; w.Record = Fetched }, "server; leave: already there"},
	{"before, changed here, Newer", func(w *world) { w.gone(); w.Here = Regular; w.Local.Size = 7; w.Existing = Newer }, "server; leave: fetched before"},
	{"before, a link to nothing here", func(w *world) { w.gone(); w.Here = Dangling }, "server; leave: fetched before"},
	{"before, here, newer there", func(w *world) { w.gone(); w.Here = Regular; w.server.Time = serverTime.Add(time.Hour) }, "server disk; refuse exists: is older than the server's, and of the same size"},
	{"before, here, newer there, Newer", func(w *world) {
		w.gone()
		w.Here = Regular
		w.Existing = Newer
		w.server.Time = serverTime.Add(time.Hour)
	}, "server disk part; replace"},

	{"right", func(w *world) { w.Given = true; w.right = true }, "digest; leave: already there"},
	{"wrong", func(w *world) { w.Given = true }, "digest; refuse other: exists with another digest"},
	{"wrong, Skip", func(w *world) { w.Given = true; w.Existing = Skip }, "digest; refuse mismatch: exists with another digest"},
	{"wrong, Continue", func(w *world) { w.Given = true; w.Existing = Continue; w.Listed.Size = 100 }, "digest; refuse mismatch: exists with another digest"},
	{"wrong by Verify", func(w *world) { w.Verify = true }, "server digest; refuse mismatch: exists with another digest"},
	{"wrong, Newer", func(w *world) { w.Given = true; w.Existing = Newer }, "digest part; replace, fetching it again"},
	{"wrong, Continue, shorter", func(w *world) { w.Given = true; w.Existing = Continue; w.Local.Size = 50 }, "server part; replace from target"},
	{"wrong, Continue, the server tells nothing", func(w *world) { w.Given = true; w.Existing = Continue; w.server = Unknown }, "server digest; refuse mismatch: exists with another digest"},
	{"right, Continue, no size before", func(w *world) { w.Given = true; w.Existing = Continue; w.right = true }, "server digest; leave: already there"},
	{"right, Continue, listed", func(w *world) { w.Given = true; w.Existing = Continue; w.right = true; w.Listed.Size = 100 }, "digest; leave: already there"},
	{"right, Continue, listed, both empty", func(w *world) {
		w.Given = true
		w.Existing = Continue
		w.right = true
		w.Local.Size = 0
		w.Listed.Size = 0
	}, "digest; leave: already there"},
	{"given, of another listed size", func(w *world) { w.Given = true; w.right = true; w.Listed = Stamp{90, serverTime} }, "refuse exists: differs from the server's: 90 bytes there, 100 here"},
	{"given, of another listed size, Skip", func(w *world) { w.Given = true; w.right = true; w.Existing = Skip; w.Listed = Stamp{90, serverTime} }, "digest; leave: already there"},

	{"in pieces", func(w *world) { w.Pieces = "f.aria2" }, "refuse other: lacks pieces, as f.aria2 shows"},
	{"in pieces, Newer", func(w *world) { w.Pieces = "f.aria2"; w.Existing = Newer }, "refuse start: lacks pieces, as f.aria2 shows"},
	{"in pieces, Continue", func(w *world) { w.Pieces = "f.aria2"; w.Existing = Continue }, "refuse start: lacks pieces, as f.aria2 shows"},

	{"Newer, a link to nothing", func(w *world) { w.Existing = Newer; w.Here = Dangling }, "refuse exists: leads to nothing"},
	{"Newer, not asked", func(w *world) { w.Existing = Newer }, "server; leave: not newer on the server"},
	{"Newer, listed", func(w *world) { w.Existing = Newer; w.Listed = Stamp{100, serverTime} }, "leave: not newer on the server"},
	{"Newer, listed, both empty", func(w *world) { w.Existing = Newer; w.Local.Size = 0; w.Listed = Stamp{0, serverTime} }, "leave: not newer on the server"},
	{"Newer, listed without a size", func(w *world) { w.Existing = Newer; w.Listed.Time = serverTime }, "server; leave: not newer on the server"},
	{"Newer, listed without a time", func(w *world) { w.Existing = Newer; w.Listed.Size = 100 }, "server; leave: not newer on the server"},
	{"Newer, no time", func(w *world) { w.Existing = Newer; w.server.Time = time.Time{} }, "server part; replace, the server does not report the file's time: retrieving it"},
	{"Newer, Continue, no size", func(w *world) { w.Existing = NewerOrContinue; w.server.Size = -1 }, "server; leave: not newer on the server"},
	{"Newer, Continue, no size, listed longer", func(w *world) {
		w.Existing = NewerOrContinue
		w.Listed.Size = 150
		w.server.Size = -1
	}, "server part; replace"},
	{"Newer, Continue, longer", func(w *world) { w.Existing = NewerOrContinue; w.Local.Size = 150 }, "server part; replace"},
	{"Newer, Continue, shorter", func(w *world) { w.Existing = NewerOrContinue; w.Local.Size = 50 }, "server part; replace from target"},
	{"Newer, Continue, empty on the server", func(w *world) { w.Existing = NewerOrContinue; w.server.Size = 0 }, "server part; replace"},
	{"Newer, Continue, listed longer", func(w *world) {
		w.Existing = NewerOrContinue
		w.Listed = Stamp{150, serverTime}
		w.server.Size = 150
	}, "server part; replace from target"},

	{"Continue, empty on the server", func(w *world) { w.Existing = Continue; w.server.Size = 0 }, "server; refuse start: has 100 bytes, but the server's file has only 0"},
	{"Continue, both empty", func(w *world) { w.Existing = Continue; w.Local.Size = 0; w.server.Size = 0 }, "server; leave: already there"},
	{"Continue, no size", func(w *world) { w.Existing = Continue; w.server.Size = -1 }, "server; refuse start: cannot be resumed: the server does not report the file's size"},
	{"Continue, as text", func(w *world) { w.Existing = Continue; w.Text = true }, "refuse start: only a regular file can be resumed, and not as text (;type=a)"},

	{"listed", func(w *world) { w.Listed = Stamp{100, serverTime} }, "leave: already there"},
	{"listed without a time", func(w *world) { w.Listed.Size = 100 }, "server; leave: already there"},
	{"listed without a time, another size", func(w *world) { w.Listed.Size = 90 }, "refuse exists: differs from the server's: 90 bytes there, 100 here"},
	{"listed as empty, without a time", func(w *world) { w.Listed.Size = 0 }, "refuse exists: differs from the server's: 0 bytes there, 100 here"},
	{"both empty", func(w *world) { w.Local.Size = 0; w.server.Size = 0 }, "server; leave: already there"},
	{"a link", func(w *world) { w.Here = Link }, "refuse exists: already exists"},
	{"as text", func(w *world) { w.Text = true }, "refuse exists: already exists"},
	{"no size", func(w *world) { w.server.Size = -1 }, "server; refuse exists: already exists"},
	{"no time", func(w *world) { w.server.Time = time.Time{} }, "server; refuse exists: has the size of the server's file, whose time is not known"},
	{"older by the slack", func(w *world) { w.Local.Time = serverTime.Add(-time.Second + 1) }, "server; leave: already there"},
	{"older", func(w *world) { w.Local.Time = serverTime.Add(-time.Second) }, "server disk; refuse exists: is older than the server's, and of the same size"},
	{"newer by the slack", func(w *world) { w.Local.Time = serverTime.Add(time.Second - 1) }, "server; leave: already there"},
	{"newer", func(w *world) { w.Local.Time = serverTime.Add(time.Second) }, "server disk; refuse other: is newer than the server's, and of the same size"},
	{"shorter", func(w *world) { w.Local.Size = 50 }, "server; refuse shorter: differs from the server's: 100 bytes there, 50 here"},
	{"shorter, listed", func(w *world) { w.Local.Size = 50; w.Listed = w.server }, "refuse shorter: differs from the server's: 100 bytes there, 50 here"},
	{"shorter, newer", func(w *world) { w.Local = Stamp{50, serverTime.Add(time.Hour)} }, "server; refuse shorter: differs from the server's: 100 bytes there, 50 here"},
	{"shorter, older", func(w *world) { w.Local = Stamp{50, serverTime.Add(-time.Hour)} }, "server; refuse exists: differs from the server's: 100 bytes there, 50 here"},
	{"shorter, another user's", func(w *world) { w.Local.Size = 50; w.Ours = false }, "server; refuse exists: differs from the server's: 100 bytes there, 50 here"},
	{"empty", func(w *world) { w.Local.Size = 0 }, "server; refuse exists: differs from the server's: 100 bytes there, 0 here"},
	{"longer", func(w *world) { w.Local.Size = 150 }, "server; refuse exists: differs from the server's: 100 bytes there, 150 here"},
	{"newer, Verify, right", func(w *world) { w.Local.Time = serverTime.Add(time.Hour); w.Verify = true; w.right = true }, "server disk digest; leave: already there"},
	{"newer, Verify, wrong", func(w *world) { w.Local.Time = serverTime.Add(time.Hour); w.Verify = true }, "server disk digest; refuse mismatch: exists with another digest"},
	{"older, Verify, right", func(w *world) { w.Local.Time = serverTime.Add(-time.Hour); w.Verify = true; w.right = true }, "server disk digest; leave: already there"},
	{"no time, Verify, right", func(w *world) { w.server.Time = time.Time{}; w.Verify = true; w.right = true }, "server digest; leave: already there"},
	{"longer, Verify", func(w *world) { w.Local.Size = 150; w.Verify = true }, "server; refuse exists: differs from the server's: 100 bytes there, 150 here"},
	{"newer, Verify, right, another size expected", func(w *world) {
		w.Local.Time = serverTime.Add(time.Hour)
		w.Verify = true
		w.right = true
		w.Want = 150
		w.Existing = Continue
	}, "server; refuse size: exists with 100 bytes, not the expected 150"},
	{"older, as the disk makes it", func(w *world) { w.Local.Time = serverTime.Add(-time.Hour); w.clamps = true }, "server disk; leave: already there"},
	{"newer, as the disk makes it", func(w *world) { w.Local.Time = serverTime.Add(time.Hour); w.clamps = true }, "server disk; leave: already there"},
	{"older, as the disk makes it, listed", func(w *world) {
		w.Listed = w.server
		w.Local.Time = serverTime.Add(-time.Hour)
		w.clamps = true
	}, "disk; leave: already there"},
	{"older, as the disk makes it, Newer", func(w *world) {
		w.Existing = Newer
		w.Local.Time = serverTime.Add(-time.Hour)
		w.clamps = true
	}, "server disk; leave: not newer on the server"},
	{"older, as the disk makes it, Continue", func(w *world) {
		w.Existing = Continue
		w.Local.Time = serverTime.Add(-time.Hour)
		w.clamps = true
	}, "server disk; leave: already there"},
	{"newer, Newer", func(w *world) { w.Existing = Newer; w.Local.Time = serverTime.Add(time.Hour) }, "server; leave: not newer on the server"},
	{"older, of another size, Newer", func(w *world) {
		w.Existing = Newer
		w.Local = Stamp{90, serverTime.Add(-time.Hour)}
		w.clamps = true
	}, "server part; replace"},
	{"older, a link, Newer", func(w *world) {
		w.Existing = Newer
		w.Here = Link
		w.Local.Time = serverTime.Add(-time.Hour)
		w.clamps = true
	}, "server part; replace"},
	{"the server omits what is listed", func(w *world) { w.Listed.Size = 100; w.server = Unknown }, "server; refuse exists: has the size of the server's file, whose time is not known"},
	{"emptied since it was listed", func(w *world) { w.Listed.Size = 100; w.server.Size = 0 }, "server; refuse exists: differs from the server's: 0 bytes there, 100 here"},

	{"nothing", func(w *world) { w.Here = Nothing }, "part; fetch"},
	{"nothing, Overwrite", func(w *world) { w.Here = Nothing; w.Existing = Overwrite }, "part; replace"},
	{"nothing, a part", func(w *world) { w.Here = Nothing; w.part.Bytes = 60 }, "part blocks; fetch from part"},
	{"nothing, an unusable part", func(w *world) { w.Here = Nothing; w.part = Part{Bytes: 60, Bad: true} }, "part blocks; fetch: it does not match its journal"},
	{"resumed, a part that started as another file", func(w *world) {
		w.Existing = Continue
		w.Local.Size = 50
		w.part = Part{Bytes: 60, Adopted: 40}
	}, "server part; replace from target"},
	{"Continue, nothing, a part that started as another file", func(w *world) {
		w.Here = Nothing
		w.Existing = Continue
		w.part = Part{Bytes: 60, Adopted: 40}
	}, "part blocks; fetch from part"},
}

// gone makes the file one that an earlier run fetched as the server has it, and that is not here any more.
func (w *world) gone() {
	w.Here = Nothing
	w.Before = new(w.server)
}

// TestRows checks single decisions.
func TestRows(t *testing.T) {
	for _, tt := range rows {
		w := world{server: Stamp{100, serverTime}}
		w.Facts = Facts{Here: Regular, Ours: true, Want: -1, Listed: Unknown, Local: w.server}
		tt.change(&w)
		a, _ := w.settle()
		if got := w.told(a); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.what, got, tt.want)
		}
	}
}

// told returns what Next asked and answered, in words.
func (w *world) told(a Answer) string {
	asked := []string{}
	for _, what := range w.asked {
		asked = append(asked, map[Do]string{AskServer: "server", AskDisk: "disk", AskDigest: "digest", AskPart: "part", AskBlocks: "blocks"}[what])
	}
	text := ""
	switch a.Do {
	case Leave:
		text = "leave"
	case Refuse:
		text = "refuse " + [...]string{Exists: "exists", Other: "other", NoStart: "start", OtherSize: "size", Mismatch: "mismatch", Shorter: "shorter"}[a.Cause]
	default:
		text = "fetch"
		if a.Replace {
			text = "replace"
		}
		text += [...]string{FromNothing: "", FromPart: " from part", FromTarget: " from target"}[a.Start]
	}
	if a.Why != "" {
		text += ": " + a.Why
	}
	if a.Note != "" {
		text += ", " + a.Note
	}
	if len(asked) > 0 {
		text = fmt.Sprintf("%s; %s", strings.Join(asked, " "), text)
	}
	return text
}
