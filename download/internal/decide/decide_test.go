package decide

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
)

var update = flag.Bool("update", false, "write the table into docs/download.md")

var serverTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is the whole truth about a file, including the facts that Next has not asked for.
type world struct {
	Facts        // that are known from the start
	server Stamp // what the server says
	right  bool  // the target has the wanted digest
	part   Part  // what Claim finds in the part
	clamps bool  // the disk makes the target's time of the server's
	asked  []Do  // the questions, in order
}

// settle answers Next's questions until Next decides. It returns false if Next asks the same question twice.
func (w *world) settle() (Answer, bool) {
	for {
		a := Next(&w.Facts)
		if a.Do < AskServer {
			return a, true
		}
		if slices.Contains(w.asked, a.Do) {
			return a, false
		}
		w.asked = append(w.asked, a.Do)
		w.answer(a.Do)
	}
}

func (w *world) answer(what Do) {
	switch what {
	case AskServer:
		w.Asked = true
		w.Server = w.server
	case AskDisk:
		w.Tried = w.known().Time
		if w.clamps {
			w.Local.Time = w.Tried
		}
	case AskDigest:
		w.Digest = Wrong
		if w.right {
			w.Digest = Right
		}
	case AskPart:
		w.Part = w.part
		w.Part.Claimed = true
	case AskBlocks:
		w.Part.Checked = true
	}
}

// each calls f with every value of a list. Nested calls make the product of the lists.
func each[T any](list []T, f func(T)) {
	for _, x := range list {
		f(x)
	}
}

var both = []bool{false, true}

// worlds calls f with every combination of facts and flags, except the facts about the part.
func worlds(f func(world)) {
	each(Existings, func(e Existing) {
		each(both, func(verify bool) {
			flags := Flags{Existing: e, Verify: verify}
			each([]Here{Nothing, Regular, Link, Dangling}, func(here Here) {
				each(both, func(text bool) {
					each(both, func(ours bool) {
						each([]string{"", "f.aria2"}, func(pieces string) {
							w := world{Facts: Facts{Flags: flags, Here: here, Text: text, Ours: ours, Pieces: pieces}}
							worldsOfFiles(w, f)
						})
					})
				})
			})
		})
	})
}

// worldsOfFiles varies the target, the server's file, and what the listing says.
func worldsOfFiles(w world, f func(world)) {
	each([]int64{0, 50, 100, 150}, func(local int64) {
		each([]time.Duration{-time.Hour, -time.Second / 2, 0, time.Hour}, func(age time.Duration) {
			w.Local = Stamp{local, serverTime.Add(age)}
			each([]Stamp{{100, serverTime}, {100, time.Time{}}, {-1, serverTime}, Unknown}, func(server Stamp) {
				w.server = server
				each([]Stamp{Unknown, {100, serverTime}, {100, time.Time{}}, {90, serverTime.Add(-2 * time.Hour)}}, func(listed Stamp) {
					w.Listed = listed
					worldsOfWishes(w, f)
				})
			})
		})
	})
}

// worldsOfWishes varies what the caller expects, and the record.
func worldsOfWishes(w world, f func(world)) {
	each([]int64{-1, 100, 150}, func(want int64) {
		w.Want = want
		each([]Record{NoRecord, Fetched, Verified}, func(record Record) {
			w.Record = record
			each(both, func(given bool) {
				w.Given = given
				each(both, func(right bool) {
					w.right = right
					f(w)
				})
			})
		})
	})
}

// TestLaws checks the decision in every world against the laws that hold in all of them.
func TestLaws(t *testing.T) {
	n, wrong := 0, 0
	worlds(func(w world) {
		n++
		from := w
		a, ends := w.settle()
		if law := w.broken(a, ends); law != "" && wrong < 10 {
			wrong++
			t.Errorf("%s: %+v: %+v", law, from, a)
		}
	})
	t.Logf("%d worlds", n)
	if n < 1_000_000 {
		t.Errorf("only %d worlds", n)
	}
}

// broken returns the law that an answer breaks, or "".
func (w *world) broken(a Answer, ends bool) string {
	there := w.Here != Nothing
	mayReplace := w.Existing == Overwrite || w.Updates() || w.Resumes()
	compared := w.Digest == Right
	recorded := w.Record != NoRecord
	known := w.known()
	newer := known.Time.Sub(w.Local.Time) > localfile.Slack
	older := !known.Time.IsZero() && w.Local.Time.Sub(known.Time) > localfile.Slack
	otherSize := !w.Text && known.Size >= 0 && known.Size != w.Local.Size
	leaves := a.Do == Leave
	fetches := a.Do == Fetch
	switch {
	case !ends:
		return "nothing is asked twice"
	case !there && !fetches:
		return "what is not there is fetched"
	case there && fetches && !(mayReplace && a.Replace):
		return "nothing is touched that no flag allows"
	case there && fetches && w.Existing == Skip:
		return "Skip touches nothing"
	case leaves && w.Verify && !compared && w.Record != Verified:
		return "with Verify nothing is left that is not verified"
	case leaves && w.Given && !compared && !recorded:
		return "with a digest nothing is left that does not have it"
	case leaves && w.Digest == Wrong:
		return "what has a wrong digest is not left"
	case leaves && a.Why == "":
		return "what is left says why"
	}
	return w.brokenByKind(a, leaves, compared, recorded, newer, older, otherSize)
}

func (w *world) brokenByKind(a Answer, leaves, compared, recorded, newer, older, otherSize bool) string {
	lone := w.Flags == Flags{Verify: w.Verify}
	switch {
	case leaves && w.Existing != Skip && !compared && recorded && (newer || otherSize):
		return "a record alone never makes a file good that differs"
	case leaves && lone && !compared && !recorded && (newer || older || otherSize || w.known().Time.IsZero() || w.known().Size < 0):
		return "without a flag only the server's size and time make a file good"
	case leaves && w.Updates() && !w.Given && (newer || otherSize):
		return "Newer leaves nothing that is older or of another size"
	case leaves && w.Want >= 0 && w.Want != w.Local.Size && !w.Text:
		return "what has another size than the expected one is not left"
	case leaves && w.Pieces != "" && w.Existing != Skip && !compared:
		return "what lacks pieces is not left"
	case a.Start == FromTarget && (!w.Resumes() || !w.Ours || w.Here != Regular || w.Text || w.Pieces != "" || w.Local.Size >= w.server.Size || newer):
		return "only a file of this user that is shorter and no older is taken as a start"
	case a.Do == Refuse && a.Why == "":
		return "a refusal says why"
	case a.Do == Refuse && a.Cause == Shorter && !w.resumes():
		return "what is refused as shorter can be resumed"
	case slices.Contains(w.asked, AskServer) && (w.Here == Nothing || w.Existing == Overwrite || w.Existing == Skip):
		return "the server is not asked for what does not matter"
	}
	return ""
}

// resumes reports whether Continue takes the target as the start of the server's file.
func (w *world) resumes() bool {
	other := *w
	other.Existing = Continue
	other.asked = nil
	other.part = Part{}
	a, _ := other.settle()
	return a.Do == Fetch && a.Start == FromTarget || other.server.Size < 0 || other.server.Size != w.known().Size
}

// TestParts checks the decision for each kind of part that an earlier run may have left.
func TestParts(t *testing.T) {
	regular := Facts{Here: Regular, Ours: true, Want: -1, Listed: Unknown, Local: Stamp{50, serverTime}}
	none := Facts{Want: -1, Listed: Unknown}
	overwrite := regular
	overwrite.Existing = Overwrite
	resume := regular
	resume.Existing = Continue
	text := none
	text.Text = true
	fresh := none
	fresh.NoResume = true
	for _, tt := range []struct {
		what  string
		facts Facts
		part  Part
		start Start
		why   string
	}{
		{"an empty part", none, Part{}, FromNothing, ""},
		{"a half", none, Part{Bytes: 60}, FromPart, ""},
		{"a half, overwriting", overwrite, Part{Bytes: 60}, FromPart, ""},
		{"a broken one", none, Part{Broken: "no journal"}, FromNothing, "no journal"},
		{"another URL's", none, Part{Bytes: 60, Other: true}, FromNothing, "it belongs to another URL"},
		{"a damaged one", none, Part{Bytes: 60, Bad: true}, FromNothing, "it does not match its journal"},
		{"not wanted", fresh, Part{Bytes: 60}, FromNothing, "what an earlier run left is not used"},
		{"of a text", text, Part{Bytes: 60}, FromNothing, CannotResumeText},
		{"adopted, without Continue", none, Part{Bytes: 60, Adopted: 50}, FromNothing, "it starts with bytes that another program left"},
		{"adopted from what is here", resume, Part{Bytes: 60, Adopted: 50}, FromPart, ""},
		{"adopted from another file", resume, Part{Bytes: 60, Adopted: 40}, FromTarget, ""},
		{"resumed from the target", resume, Part{}, FromTarget, ""},
		{"resumed from the part of a run without Continue", resume, Part{Bytes: 70}, FromPart, ""},
		{"the target in place of a damaged part", resume, Part{Bytes: 60, Bad: true}, FromTarget, ""},
	} {
		w := world{Facts: tt.facts, part: tt.part, server: Stamp{100, serverTime}}
		a, ends := w.settle()
		if !ends || a.Do != Fetch || a.Start != tt.start || a.Why != tt.why {
			t.Errorf("%s: got %+v, want a start from %v, because %q", tt.what, a, tt.start, tt.why)
		}
		if tt.part.Bytes > 0 && tt.part.Broken == "" && a.Start == FromPart && !slices.Contains(w.asked, AskBlocks) {
			t.Errorf("%s: the part is used unchecked", tt.what)
		}
	}
}

// table returns the table for docs/download.md.
func table() string {
	const path = "`NAME`"
	same := Stamp{100, serverTime}
	file := func(size int64, age time.Duration) world {
		w := world{server: same}
		w.Facts = Facts{Here: Regular, Ours: true, Want: -1, Listed: Unknown, Local: Stamp{size, serverTime.Add(-age)}}
		return w
	}
	with := func(w world, change func(w *world)) world {
		change(&w)
		return w
	}
	rows := []struct {
		what string
		w    world
	}{
		{"nothing", with(file(0, 0), func(w *world) { w.Here = Nothing })},
		{"a file that the ledger has", with(file(100, 0), func(w *world) { w.Record = Verified; w.Listed = same })},
		{"the server's size and time", file(100, 0)},
		{"the server's size, older", file(100, time.Hour)},
		{"the server's size, newer", file(100, -time.Hour)},
		{"shorter, no older", file(50, 0)},
		{"shorter, older", file(50, time.Hour)},
		{"shorter, another user's", with(file(50, 0), func(w *world) { w.Ours = false })},
		{"longer", file(150, 0)},
		{"the right digest", with(file(100, time.Hour), func(w *world) { w.Given = true; w.right = true })},
		{"the server's size, a wrong digest", with(file(100, 0), func(w *world) { w.Given = true })},
		{"a file, and the server gives no time", with(file(100, 0), func(w *world) { w.server.Time = time.Time{} })},
		{"a file, and the server gives neither", with(file(100, 0), func(w *world) { w.server = Unknown })},
		{"a file with `NAME.aria2` beside it", with(file(100, 0), func(w *world) { w.Pieces = "NAME.aria2" })},
		{"a symbolic link to such a file", with(file(100, 0), func(w *world) { w.Here = Link })},
	}
	columns := []struct {
		name  string
		flags Flags
	}{
		{"no flag", Flags{}}, {"`-N`", Flags{Existing: Newer}}, {"`-c`", Flags{Existing: Continue}}, {"`-c -N`", Flags{Existing: NewerOrContinue}},
		{"`--no-clobber`", Flags{Existing: Skip}}, {"`--overwrite`", Flags{Existing: Overwrite}},
	}
	var out strings.Builder
	out.WriteString("| at " + path + " |")
	rule := "|---|"
	for _, c := range columns {
		out.WriteString(" " + c.name + " |")
		rule += "---|"
	}
	out.WriteString("\n" + rule + "\n")
	for _, r := range rows {
		out.WriteString("| " + r.what + " |")
		for _, c := range columns {
			w := r.w
			w.Flags = c.flags
			a, _ := w.settle()
			out.WriteString(" " + w.word(a) + " |")
		}
		out.WriteString("\n")
	}
	return out.String()
}

// word returns one word for what an answer does.
func (w *world) word(a Answer) string {
	switch {
	case a.Do == Leave:
		return "stays"
	case a.Do == Refuse:
		return "**refused**"
	case a.Start == FromTarget:
		return "resumed"
	case w.Here == Nothing:
		return "fetched"
	}
	return "replaced"
}

// TestTable compares the table of docs/download.md with the code. With -update it writes the table.
func TestTable(t *testing.T) {
	const name, begin, end = "../../../docs/download.md", "<!-- made by TestTable of download/internal/decide -->\n", "<!-- end -->\n"
	text := string(must.Get(os.ReadFile(name))(t))
	before, rest, found := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal(name + " has no place for the table")
	}
	want := before + begin + table() + end + after
	if *update {
		must.Do(t, os.WriteFile(name, []byte(want), 0o644))
	} else if text != want {
		t.Errorf("%s is not what the code says: go test ./download/internal/decide -run TestTable -update", name)
	}
}
