package activities

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
)

// The rules of what to send and when have no front door of their own but
// WatchPods, where time can't be read off; so they are tested here.

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func fact(name string, change ...func(*job.PodFact)) job.PodFact {
	fact := job.PodFact{Name: name, UID: name, Phase: corev1.PodRunning, Tracked: true}
	for _, apply := range change {
		apply(&fact)
	}
	return fact
}

func succeeded(f *job.PodFact) { f.Phase = corev1.PodSucceeded }
func failed(f *job.PodFact)    { f.Phase = corev1.PodFailed }
func deleting(f *job.PodFact)  { f.Deleting = true }
func ready(f *job.PodFact)     { f.Ready = true }
func untracked(f *job.PodFact) { f.Tracked = false }
func restarted(f *job.PodFact) { f.Restarts++ }

// scene is a watchedJob with a clock that the test moves.
type scene struct {
	*watchedJob
	t   *testing.T
	now time.Time
}

func newScene(t *testing.T) *scene { return &scene{newWatchedJob("default", "hello", "uid"), t, noon} }

func (s *scene) see(facts ...job.PodFact) {
	for _, fact := range facts {
		s.observe(fact, false, false, true, s.now)
	}
}

// acts decides and lets everything succeed; it returns the names that were sent.
func (s *scene) acts() ([]string, decision) {
	due := s.decide(s.now)
	var names []string
	for _, fact := range due.facts {
		names = append(names, fact.Name)
	}
	switch {
	case len(due.facts) > 0:
		s.watchedJob.told(due.facts, s.now)
	case due.project:
		s.projected(due.ready, true, s.now)
	}
	return names, due
}

func (s *scene) sends(want ...string) decision {
	s.t.Helper()
	names, due := s.acts()
	if !slices.Equal(names, want) {
		s.t.Errorf("at +%v sent %v, want %v", s.now.Sub(noon), names, want)
	}
	return due
}

func (s *scene) after(d time.Duration) { s.now = s.now.Add(d) }

func TestNewsOfAPod(t *testing.T) {
	running := fact("a")
	tests := map[string]struct {
		told        *job.PodFact // nil: never told
		now         job.PodFact
		restartable bool
		want        bool
	}{
		"pending":                          {nil, fact("a", func(f *job.PodFact) { f.Phase = corev1.PodPending }), true, false},
		"running":                          {nil, running, true, false},
		"ready":                            {nil, fact("a", ready), true, false},
		"succeeded":                        {nil, fact("a", succeeded), false, true},
		"failed":                           {&running, fact("a", failed), false, true},
		"deletion asked for":               {nil, fact("a", deleting), false, true},
		"deletion told":                    {ptr(fact("a", deleting)), fact("a", deleting), false, false},
		"ended after its deletion":         {ptr(fact("a", deleting)), fact("a", deleting, succeeded), false, true},
		"restarted, policy OnFailure":      {&running, fact("a", restarted), true, true},
		"restarted, policy Never":          {&running, fact("a", restarted), false, false},
		"end told":                         {ptr(fact("a", succeeded)), fact("a", succeeded), false, false},
		"end told, then deleted":           {ptr(fact("a", succeeded)), fact("a", succeeded, deleting), false, false},
		"first seen when ended, released":  {nil, fact("a", succeeded, untracked), false, false},
		"ended under the watch, untracked": {&running, fact("a", succeeded, untracked), false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if test.told != nil {
				s.observe(*test.told, test.restartable, false, true, s.now)
				s.watchedJob.told([]job.PodFact{*test.told}, s.now.Add(-time.Minute))
			}
			s.observe(test.now, test.restartable, false, true, s.now)
			if sent, _ := s.acts(); (len(sent) > 0) != test.want {
				t.Errorf("sent %v, want news: %v", sent, test.want)
			}
		})
	}
}

func ptr[T any](value T) *T { return &value }

func TestPodThatLeavesTheWatchsSight(t *testing.T) {
	t.Run("while it is being deleted: gone", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", deleting, ready))
		s.sends("a")
		s.after(time.Minute)
		s.remove("a", false)
		if due := s.sends("a"); !due.facts[0].Gone || due.facts[0].Ready {
			t.Errorf("fact %+v", due.facts[0])
		}
		if len(s.pods) != 0 {
			t.Error("the Pod is remembered after its end was taken")
		}
	})
	t.Run("while it runs: it is looked up, and gone", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", ready))
		s.remove("a", false)
		if due := s.sends(); len(due.look) != 1 || due.look[0].Name != "a" {
			t.Fatalf("decision %+v", due)
		}
		s.gone("a")
		if due := s.sends("a"); !due.facts[0].Gone || len(due.look) != 0 || len(s.pods) != 0 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("while it runs: it is looked up, and not the Job's any more", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", ready))
		s.remove("a", false)
		s.disown("a")
		s.remove("a", false) // its label is taken off
		if due := s.sends("a"); !due.facts[0].Disowned || due.facts[0].Gone || len(s.pods) != 0 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("being deleted, with another controller: it is looked up", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", deleting))
		s.sends("a")
		s.remove("a", true)
		if due := s.sends(); len(due.look) != 1 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("it comes back before the answer: the answer is stale", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a"))
		s.remove("a", false)
		s.see(fact("a"))
		s.gone("a")
		s.disown("a")
		if due := s.sends(); len(due.look) != 0 || s.left != 1 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("it ended and was released by somebody: how it ended, and then nothing", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a"))
		s.remove("a", false)
		s.found(fact("a", failed, untracked), true)
		if s.sends("a"); len(s.pods) != 0 {
			t.Error("the Pod is remembered though nothing will be heard of it")
		}
	})
	t.Run("ended, but nobody was told yet: it is looked up", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", failed))
		s.remove("a", false)
		s.gone("a")
		if due := s.sends("a"); !due.facts[0].Gone || due.facts[0].Phase != corev1.PodFailed {
			t.Errorf("fact %+v", due.facts[0])
		}
	})
	t.Run("ended, told and released while the signal was under way: nothing", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", succeeded))
		facts := s.decide(s.now).facts
		s.remove("a", false)
		s.watchedJob.told(facts, s.now)
		s.after(time.Hour)
		if due := s.sends(); len(due.look) != 0 || len(s.pods) != 0 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("after its end was told: nothing", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", succeeded))
		s.sends("a")
		s.remove("a", false)
		s.after(time.Hour)
		if due := s.sends(); len(due.look) != 0 || len(s.pods) != 0 {
			t.Errorf("decision %+v", due)
		}
	})
}

func TestPodWhoseLabelsMayNotMatchIsLookedUpFirst(t *testing.T) {
	s := newScene(t)
	s.observe(fact("a", succeeded), false, false, false, s.now)
	if due := s.sends(); len(due.look) != 1 {
		t.Fatalf("decision %+v", due)
	}
	s.found(fact("a", succeeded), false)
	s.sends("a")
}

func TestLookupsAreBounded(t *testing.T) {
	s := newScene(t)
	for i := range 3 * lookups {
		name := strconv.Itoa(i)
		s.see(fact(name))
		s.remove(name, false)
	}
	if due := s.decide(s.now); len(due.look) != lookups {
		t.Errorf("%d Pods are looked up at once", len(due.look))
	}
}

func TestSignalsAreCoalesced(t *testing.T) {
	s := newScene(t)
	s.see(fact("a"), fact("b"), fact("c"), fact("d"))
	s.see(fact("a", failed))
	s.sends("a") // the first goes at once
	s.after(100 * time.Millisecond)
	s.see(fact("b", failed))
	if due := s.sends(); !due.again.Equal(noon.Add(signalInterval)) {
		t.Errorf("decides again at +%v", due.again.Sub(noon))
	}
	s.after(500 * time.Millisecond)
	s.see(fact("c", succeeded))
	s.sends()
	s.after(400 * time.Millisecond)
	s.sends("b", "c") // a second after the first, all there is
	s.after(10 * time.Millisecond)
	s.see(fact("d", succeeded))
	s.sends("d") // the last Pod ends: at once
}

func TestLastEndIsNotHeldBackByItsOwnDeletion(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", deleting))
	s.sends("a")
	s.after(10 * time.Millisecond)
	s.see(fact("a", deleting, succeeded))
	s.sends("a")
}

func TestDeletionIsNotUrgent(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", succeeded), fact("b"))
	s.sends("a")
	s.after(10 * time.Millisecond)
	s.see(fact("b", deleting))
	s.sends()
}

func TestASignalCarriesReadinessToo(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", ready), fact("b"), fact("c", failed))
	due := s.sends("a", "c")
	if !due.facts[0].Ready {
		t.Errorf("fact %+v", due.facts[0])
	}
	s.after(time.Minute)
	if due := s.sends(); due.project {
		t.Errorf("ready %d is projected though the workflow was told", due.ready)
	}
}

func TestReadinessIsProjectedWhenItStays(t *testing.T) {
	s := newScene(t)
	s.see(fact("a"), fact("b"))
	s.sends()
	s.see(fact("a", ready))
	if due := s.sends(); due.project || !due.again.Equal(noon.Add(readyDelay)) {
		t.Errorf("decision %+v", due)
	}
	s.after(readyDelay)
	if due := s.sends(); !due.project || due.ready != 1 {
		t.Errorf("decision %+v", due)
	}
	s.see(fact("b", ready))
	s.sends()
	s.see(fact("b"))
	s.after(time.Hour)
	if due := s.sends(); due.project {
		t.Error("readiness that went away again was projected")
	}
}

func TestReadinessOfAJobWithoutRunningPodsIsLeftAlone(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", ready))
	s.sends()
	s.after(readyDelay)
	if due := s.sends(); !due.project {
		t.Fatal("not projected")
	}
	s.see(fact("a", succeeded))
	s.sends("a")
	s.after(time.Hour)
	if due := s.decide(s.now); due.project {
		t.Error("projected though no Pod runs")
	}
}

func TestReadinessIsConfirmedWhereTheWorkflowMayWriteAnOlderOne(t *testing.T) {
	t.Run("soon after a signal", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a"), fact("b", failed))
		s.sends("b")
		s.see(fact("a", ready))
		s.sends()
		s.after(readyDelay)
		if due := s.sends(); !due.project {
			t.Fatal("not projected")
		}
		if due := s.decide(s.now); !due.again.Equal(noon.Add(readySettle)) {
			t.Errorf("confirms at +%v", due.again.Sub(noon))
		}
		s.now = noon.Add(readySettle)
		if due := s.sends(); !due.project || due.ready != 1 {
			t.Error("not confirmed")
		}
		s.after(time.Minute)
		if due := s.sends(); due.project {
			t.Error("confirmed for ever")
		}
	})
	t.Run("when a Pod was created", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", ready))
		s.sends()
		s.after(readyDelay)
		s.sends()
		s.after(time.Hour)
		s.see(fact("b"))
		s.after(readyDelay)
		if due := s.sends(); !due.project || due.ready != 1 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("when the Job did not take it", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", ready))
		s.sends()
		s.after(readyDelay)
		if due := s.decide(s.now); !due.project {
			t.Fatal("not projected")
		}
		s.projected(1, false, s.now)
		s.after(readySettle)
		if due := s.sends(); !due.project {
			t.Error("not tried again")
		}
	})
}

func TestReadinessFoundAtStartIsProjectedSpreadOut(t *testing.T) {
	s := newScene(t)
	s.observe(fact("a", ready), false, true, true, s.now)
	s.sends()
	s.after(readySpread + readyDelay)
	if due := s.sends(); !due.project || due.ready != 1 {
		t.Errorf("decision %+v", due)
	}
}

func TestUnreleasedPodIsLookedIntoAgain(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", succeeded))
	s.sends("a")
	if due := s.sends(); !due.again.Equal(noon.Add(repeatInterval)) {
		t.Errorf("decides again at +%v", due.again.Sub(noon))
	}
	s.after(repeatInterval)
	if due := s.sends("a"); !due.verify {
		t.Error("repeated without a look at the Job")
	}
	s.see(fact("a", succeeded, untracked))
	s.after(time.Hour)
	if due := s.sends(); due.verify || !due.again.IsZero() {
		t.Errorf("decision %+v after the release", due)
	}
}

func TestSettledJobIsQuiet(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", succeeded), fact("b"), fact("c"), fact("d", deleting))
	s.remove("c", false)
	s.remove("d", false)
	if orphans := s.tracked(); len(orphans) != 3 {
		t.Errorf("orphans %v", orphans)
	}
	s.settle()
	s.see(fact("b", ready))
	s.after(time.Hour)
	if due := s.sends(); due.project || len(due.look) != 0 || len(s.pods) != 2 {
		t.Errorf("decision %+v with %d Pods", due, len(s.pods))
	}
}

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
	var left, running, told int32
	for uid, pod := range w.pods {
		if pod.fact.UID != uid {
			t.Fatalf("Pod %s is kept as %s", pod.fact.UID, uid)
		}
		if pod.told.ready {
			told++
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
	if w.left != left || w.running != running || w.toldReady != told {
		t.Fatalf("%d left, %d ready, %d told; want %d, %d, %d", w.left, w.running, w.toldReady, left, running, told)
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
