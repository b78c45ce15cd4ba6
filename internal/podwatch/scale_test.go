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

// endAll ends the Pods of a Job one after the other. Each end asks for a decision, as
// the informer does. It returns how many signals came of it.
func endAll(s *scene, pods int) (signals int) {
	for i := range pods {
		s.see(fact(strconv.Itoa(i), ready))
	}
	for i := range pods {
		s.see(fact(strconv.Itoa(i), succeeded))
		if names, _ := s.acts(); len(names) > 0 {
			signals++
		}
		s.after(time.Millisecond)
	}
	return signals
}

func TestALargeJobIsToldInFewSignals(t *testing.T) {
	if signals := endAll(newScene(t), 5000); signals > 7 { // one at once, one a second, one for the end
		t.Errorf("%d signals in 5 s", signals)
	}
}

// BenchmarkDecisions: were each decision a look at every Pod, ten times the Pods would take a
// hundred times as long.
func BenchmarkDecisions(b *testing.B) {
	for _, pods := range []int{500, 5000} {
		b.Run(strconv.Itoa(pods), func(b *testing.B) {
			for b.Loop() {
				endAll(newScene(b), pods)
			}
		})
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
