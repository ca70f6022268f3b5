package download

import (
	"reflect"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/fetch"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestOptionsArePassedOn sets one option at a time, and checks that package fetch gets it in the field of the same
// name.
func TestOptionsArePassedOn(t *testing.T) {
	all := reflect.ValueOf(Options{
		Existing: Newer, NoResume: true, Verify: true,
		Retries: 1, Segments: 2,
		Size: new(int64), Sum: digest.Sum{Algorithm: "md5", Digest: make([]byte, 16)}, Limit: rate.NewLimiter(1, 1),
	})
	for _, f := range reflect.VisibleFields(reflect.TypeFor[fetch.Options]()) {
		if f.Anonymous {
			continue
		}
		var one Options
		var want fetch.Options
		reflect.ValueOf(&one).Elem().FieldByName(f.Name).Set(all.FieldByName(f.Name))
		reflect.ValueOf(&want).Elem().FieldByIndex(f.Index).Set(all.FieldByName(f.Name))
		got := must.Get(one.job(nil, urlOf(t, "ftp://h/f")))(t).Options
		if !reflect.DeepEqual(got, want) || reflect.ValueOf(got).IsZero() {
			t.Errorf("%s is not passed on as it is: got %+v: see Options.job", f.Name, got)
		}
	}
	j := must.Get((&Options{checkpoint: time.Second}).job(nil, urlOf(t, "ftp://h/f")))(t)
	if j.Checkpoint != time.Second {
		t.Errorf("the time between journals is not passed on: got %v", j.Checkpoint)
	}
	// Conversely, each option that fetch.Options lacks must be a function, or belong to the place.
	for f := range reflect.TypeFor[Options]().Fields() {
		_, known := reflect.TypeFor[fetch.Options]().FieldByName(f.Name)
		switch f.Name {
		case "Root", "Events", "Commit", "checkpoint":
		default:
			if !known {
				t.Errorf("package fetch knows no %s", f.Name)
			}
		}
	}
}
