package activities

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
)

// TestWhatIsKeptForDecisionsIsWhatPodsSay: counters and sets are kept with every
// change; here they are compared with the Pods themselves.
func TestWhatIsKeptForDecisionsIsWhatPodsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWatchedJob("default", "hello", "uid")
		now := noon
		names := []string{"a", "b", "c", "d"}
		anyFact := func() job.PodFact {
			return job.PodFact{
				Name: rapid.SampledFrom(names).Draw(t, "name"),
				Phase: rapid.SampledFrom([]corev1.PodPhase{
					corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed,
				}).Draw(t, "phase"),
				Ready: rapid.Bool().Draw(t, "ready"), Deleting: rapid.Bool().Draw(t, "deleting"),
				Tracked: rapid.Bool().Draw(t, "tracked"), Restarts: rapid.Int32Range(0, 2).Draw(t, "restarts"),
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"observe": func(t *rapid.T) {
				fact := anyFact()
				fact.UID = fact.Name
				w.observe(fact, rapid.Bool().Draw(t, "restartable"), rapid.Bool().Draw(t, "initial"), rapid.Bool().Draw(t, "belongs"), now)
			},
			"remove": func(t *rapid.T) { w.remove(rapid.SampledFrom(names).Draw(t, "name"), rapid.Bool().Draw(t, "exists")) },
			"gone":   func(t *rapid.T) { w.gone(rapid.SampledFrom(names).Draw(t, "name")) },
			"disown": func(t *rapid.T) { w.disown(rapid.SampledFrom(names).Draw(t, "name")) },
			"found": func(t *rapid.T) {
				fact := anyFact()
				fact.UID = fact.Name
				w.found(fact, rapid.Bool().Draw(t, "unseen"))
			},
			"act": func(t *rapid.T) {
				if due := w.decide(now); len(due.facts) > 0 {
					w.told(due.facts, now)
				} else if due.project {
					w.projected(due.ready, rapid.Bool().Draw(t, "taken"), now)
				}
			},
			"settle": func(*rapid.T) { w.settle() },
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
			},
			"": func(t *rapid.T) { checkKept(t, w) },
		})
	})
}

func checkKept(t *rapid.T, w *watchedJob) {
	var left, running int32
	for uid, pod := range w.pods {
		if pod.fact.UID != uid {
			t.Fatalf("Pod %s is kept as %s", pod.fact.UID, uid)
		}
		if !pod.accounted && !over(pod.fact) {
			left++
			if isReady(pod.fact) {
				running++
			}
		}
		for name, set := range map[string]struct {
			pods podSet
			in   bool
		}{
			"news": {w.news, pod.isNews()}, "changed": {w.changed, pod.hasChanged()},
			"missing": {w.missing, pod.isMissing()}, "unreleased": {w.unreleased, pod.isUnreleased()},
		} {
			if (set.pods[uid] == pod) != set.in {
				t.Fatalf("Pod %s among %s: %v, want %v", uid, name, !set.in, set.in)
			}
		}
		if pod.isUnreleased() && pod.told.at.Add(repeatInterval).Before(w.repeatDue) {
			t.Fatalf("Pod %s is to be looked into before %v", uid, w.repeatDue)
		}
	}
	if w.left != left || w.running != running {
		t.Fatalf("%d left, %d ready; want %d, %d", w.left, w.running, left, running)
	}
	for _, set := range []podSet{w.news, w.changed, w.missing, w.unreleased} {
		for uid := range set {
			if w.pods[uid] == nil {
				t.Fatalf("Pod %s is kept though it is forgotten", uid)
			}
		}
	}
}

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
