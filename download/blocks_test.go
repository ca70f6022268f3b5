package download

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// TestDamagedPart changes a byte at each end of each block of a part. Only the damaged block is fetched again.
func TestDamagedPart(t *testing.T) {
	const block = 64 << 10
	for _, segments := range []int{1, 3} {
		for i := range 4 {
			end := min(i*block+block, 200_000)
			for _, at := range []int{i * block, (i*block + end) / 2, end - 1} {
				k := newKit(t, map[string]string{"/f": body})
				k.write("f.ftpfetch.part", body[:200_000])
				k.write("f.ftpfetch.json", k.journal("/f", 300_000, kitTime, span{0, 200_000}))
				k.flip("f.ftpfetch.part", at)
				r, err := k.get("/f", Options{Segments: segments})
				if err != nil || r.Resumed != int64(200_000-(end-i*block)) || !k.told(Noted, "1 of 4 blocks are damaged") {
					t.Errorf("byte %d: got %+v, %v, events %v", at, r, err, k.events)
				}
				if got := k.rests(); i > 0 && (len(got) == 0 || got[0] != fmt.Sprint(i*block)) {
					t.Errorf("byte %d: REST %q", at, got)
				}
				k.want(map[string]string{"f": body})
			}
		}
	}
}

// flip changes one bit of a file in the test's directory.
func (k *kit) flip(name string, at int) {
	k.Helper()
	text := []byte(read(k.T, k.path(name)))
	text[at] ^= 0x10
	f, err := os.OpenFile(k.path(name), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(text[at:at+1], int64(at))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		k.Fatal(err)
	}
}

// TestDamagedAdopted checks that bytes which -c took and which changed since are taken again from the target, or else fetched.
func TestDamagedAdopted(t *testing.T) {
	for _, o := range []Options{{Continue: true}, {}, {Overwrite: true}} {
		k := newKit(t, map[string]string{"/f": body})
		k.write(k.part, body[:200_000])
		text := k.journal("/f", 300_000, kitTime, span{0, 200_000})
		k.write(k.json, strings.Replace(text, `"size":300000,`, `"size":300000,"adopted":1000,`, 1))
		k.flip(k.part, 5)
		if o.Continue {
			k.write("f", body[:1000])
		}
		_, err := k.get("/f", o)
		if got := k.rests(); err != nil || o.Continue && !slices.Equal(got, []string{"1000"}) || !o.Continue && len(got) > 0 {
			t.Errorf("%+v: %v, REST %q", o, err, got)
		}
		k.want(map[string]string{"f": body})
	}
}

// namesIn lists a directory.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// wantNames checks that dir holds exactly these names.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// TestCheckpoints checks that a journal is written every second while data flows.
func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	for seconds := range 4 {
		synctest.Test(t, func(t *testing.T) {
			journals := 0
			onCall(t, func(call, path string) error {
				if call == "rename" && strings.HasSuffix(path, "~") {
					journals++
				}
				return nil
			})
			limit := int64(len(body)) * 2 / int64(2*seconds+1) // so that it takes half a second more
			path := filepath.Join(dir, strconv.Itoa(seconds))
			_, err := File(t.Context(), memorySource{contents: body}, urlOf(t, "ftp://h/f"), path, &Options{Limit: limitOf(limit)})
			if want := seconds; err != nil || journals != want {
				t.Errorf("in %d seconds and a half: %d journals, want %d (%v)", seconds, journals, want, err)
			}
		})
	}
}
