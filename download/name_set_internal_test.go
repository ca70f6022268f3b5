package download

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestNameSet compares a nameSet with a map, for names that are mostly in order.
func TestNameSet(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		s, ticked := nameSet{}, map[string]bool{}
		last := 0
		for range 40 {
			name := strconv.Itoa(1000 + last + random.IntN(3))
			if random.IntN(40) == 0 {
				name = strconv.Itoa(1000 + random.IntN(60))
			}
			was, there := ticked[name]
			switch random.IntN(8) {
			case 0:
				s.untick()
				for name := range ticked {
					ticked[name] = false
				}
				last = 0
			case 1, 2, 3:
				if got := s.tick(name); got != (there && !was) {
					t.Fatalf("%d: tick(%s) is %t", seed, name, got)
				}
				if there {
					ticked[name] = true
				}
				last++
			default:
				if got := there; random.IntN(2) == 0 && s.has(name) != got {
					t.Fatalf("%d: has(%s) is %t", seed, name, !got)
				}
				if !there {
					s.add(name)
					ticked[name] = false
					last++
				}
			}
		}
	}
}

// TestNamesInOrder checks that names that are added and ticked in order need no index.
func TestNamesInOrder(t *testing.T) {
	var s nameSet
	names := []string{"A", "B", "a", "b", "c"}
	for _, name := range names {
		if s.has(name) || s.tick(name) {
			t.Errorf("%s is there already", name)
		}
		s.add(name)
	}
	for _, name := range slices.Concat(names, []string{"d"}) {
		if got := s.tick(name); got != (name != "d") {
			t.Errorf("tick(%s) is %t", name, got)
		}
	}
	if s.index != nil {
		t.Error("there is an index")
	}
}
