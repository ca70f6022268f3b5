package download

import (
	"reflect"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/fetch"
	"example.com/ftpfetch/internal/rules/must"
)

// TestOptionsArePassedOn checks that package fetch gets every option: each of its own is set if all of ours are.
func TestOptionsArePassedOn(t *testing.T) {
	all := Options{
		Overwrite: true, Newer: true, NoResume: true, Verify: true, Retries: 1, RetryConnect: true, Segments: 2,
		Size: new(int64), Sum: digest.Sum{Algorithm: "md5"}, Limit: rate.NewLimiter(1, 1), checkpoint: time.Second,
	}
	j := must.Get(all.job(nil, urlOf(t, "ftp://h/f")))(t)
	others := must.Get((&Options{Skip: true}).job(nil, urlOf(t, "ftp://h/f")))(t)
	resumes := must.Get((&Options{Continue: true}).job(nil, urlOf(t, "ftp://h/f")))(t)
	j.Skip = others.Skip // which contradict others
	j.Continue = resumes.Continue
	set := reflect.ValueOf(j.Options)
	for i := range set.NumField() {
		f := set.Field(i)
		if f.Kind() == reflect.Struct && set.Type().Field(i).Anonymous {
			for k := range f.NumField() {
				if f.Field(k).IsZero() {
					t.Errorf("%s is not passed on: see Options.job", f.Type().Field(k).Name)
				}
			}
		} else if f.IsZero() {
			t.Errorf("%s is not passed on: see Options.job", set.Type().Field(i).Name)
		}
	}
	// The other way round: what package fetch has no name for is told by functions, or is the place.
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
