package podwatch

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/job"
)

// TestDecisionsOfALargeJobAreCheap: 5,000 Pods end one after the other, and every
// change asks for a decision, as the informer does.
func TestDecisionsOfALargeJobAreCheap(t *testing.T) {
	const pods = 5000
	s := newScene(t)
	for i := range pods {
		s.see(fact(strconv.Itoa(i), ready))
	}
	signals := 0
	began := time.Now()
	for i := range pods {
		s.see(fact(strconv.Itoa(i), succeeded))
		if names, _ := s.acts(); len(names) > 0 {
			signals++
		}
		s.after(time.Millisecond)
	}
	// Looking at every Pod for every decision would be 25 million looks, a second or more.
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("%d decisions took %v", pods, took)
	}
	if signals > 7 { // one at once, one a second, one for the end
		t.Errorf("%d signals in 5 s", signals)
	}
}

func TestPartsOfASignal(t *testing.T) {
	var small, large []job.PodFact
	for i := range 1200 {
		small = append(small, fact(strconv.Itoa(i)))
		large = append(large, fact(strconv.Itoa(i), func(f *job.PodFact) { f.Message = strings.Repeat("x", 1000) }))
	}
	for name, test := range map[string]struct {
		facts []job.PodFact
		parts int
	}{"nothing": {nil, 0}, "by number": {small, 3}, "by size": {large, 6}} {
		t.Run(name, func(t *testing.T) {
			var all []job.PodFact
			count := 0
			for part := range parts(test.facts) {
				count++
				all = append(all, part...)
				if encoded, err := json.Marshal(part); err != nil || len(part) > 500 || len(encoded) > 300*1024 {
					t.Errorf("a part of %d facts and %d bytes, error %v", len(part), len(encoded), err)
				}
			}
			if count != test.parts || !reflect.DeepEqual(all, test.facts) {
				t.Errorf("%d parts of %d facts, want %d of %d", count, len(all), test.parts, len(test.facts))
			}
		})
	}
}
