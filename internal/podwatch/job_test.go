package podwatch

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

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
func removed(f *job.PodFact)   { f.Removed, f.Tracked = true, false }
func ready(f *job.PodFact)     { f.Ready = true }
func untracked(f *job.PodFact) { f.Tracked = false }
func restarted(f *job.PodFact) { f.Restarts++ }

// scene is a watchedJob with a clock that the test moves.
type scene struct {
	*watchedJob
	t   testing.TB
	now time.Time
}

func newScene(t testing.TB) *scene {
	return &scene{newWatchedJob(jobKey{namespace: "default", name: "hello", uid: "uid"}), t, noon}
}

func (s *scene) see(facts ...job.PodFact) {
	for _, fact := range facts {
		s.observe(sight{fact: fact}, false, s.now)
	}
}

// seeUnproven is see for Pods whose labels may not match.
func (s *scene) seeUnproven(facts ...job.PodFact) {
	for _, fact := range facts {
		s.observe(sight{fact: fact, unproven: true}, false, s.now)
	}
}

// leaves takes a Pod out of the watch's sight, as it was seen last.
func (s *scene) leaves(name string, exists bool) {
	s.remove(sight{fact: s.pods[name].fact}, exists, s.now)
}

func (s *scene) isGone(name string) { s.answer(name, foundGone, sight{}, s.now) }

func (s *scene) isForeign(name string) { s.answer(name, foundForeign, sight{}, s.now) }

func (s *scene) isFound(fact job.PodFact) { s.found(sight{fact: fact}, s.now) }

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
		"deletion told":                    {ptr.To(fact("a", deleting)), fact("a", deleting), false, false},
		"removed by a plan":                {&running, fact("a", deleting, removed), false, false},
		"removed by a plan, first seen so": {nil, fact("a", deleting, removed), false, false},
		"removed by a plan, and ended":     {ptr.To(fact("a", deleting, removed)), fact("a", deleting, removed, failed), false, true},
		"ended after its deletion":         {ptr.To(fact("a", deleting)), fact("a", deleting, succeeded), false, true},
		"restarted, policy OnFailure":      {&running, fact("a", restarted), true, true},
		"restarted, policy Never":          {&running, fact("a", restarted), false, false},
		"end told":                         {ptr.To(fact("a", succeeded)), fact("a", succeeded), false, false},
		"end told, then deleted":           {ptr.To(fact("a", succeeded)), fact("a", succeeded, deleting), false, false},
		"first seen when ended, released":  {nil, fact("a", succeeded, untracked), false, false},
		"ended under the watch, untracked": {&running, fact("a", succeeded, untracked), false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			if test.told != nil {
				s.observe(sight{fact: *test.told, restartable: test.restartable}, false, s.now)
				s.watchedJob.told([]job.PodFact{*test.told}, s.now.Add(-time.Minute))
			}
			s.observe(sight{fact: test.now, restartable: test.restartable}, false, s.now)
			if sent, _ := s.acts(); (len(sent) > 0) != test.want {
				t.Errorf("sent %v, want news: %v", sent, test.want)
			}
		})
	}
}

// The workflow asked for it, and knows. It waits for the Pod to be gone.
func TestAPodThatAPlanRemovesIsReportedWhenItIsGone(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", ready), fact("b"))
	s.see(fact("a", ready, removed))
	s.see(fact("a", deleting, removed))
	s.sends()
	s.leaves("a", false)
	s.sends("a")
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
	s.sends()
	s.after(readyDelay)
	if due := s.sends(); !due.project || due.ready != 1 {
		t.Errorf("the workflow does not write readiness, and PodWatch decides %+v", due)
	}
}

func TestReadinessIsProjectedBetweenSignals(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", ready), fact("b", failed), fact("c"), fact("d"))
	s.sends("a", "b")
	s.sends()
	s.after(readyDelay - time.Millisecond)
	s.see(fact("c", failed))
	s.sends()
	s.after(time.Millisecond)
	s.sends("c")
	s.see(fact("d", failed))
	if due := s.sends(); !due.project || due.ready != 1 {
		t.Errorf("news that wait hold readiness back: %+v", due)
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
	s.observe(sight{fact: fact("a", ready)}, true, s.now)
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

// A Pod was let go while it could run, and ended while nobody watched: its Job is told once. One that is not being deleted was counted.
func TestEndOfAPodThatWasLetGoIsToldByWhoeverWatchesNext(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", succeeded, untracked, deleting), fact("b", succeeded, untracked))
	s.sends("a")
	s.after(time.Hour)
	s.sends()
}

func TestSettledJobIsQuiet(t *testing.T) {
	s := newScene(t)
	s.see(fact("a", succeeded), fact("b"), fact("c"), fact("d", deleting, untracked))
	s.leaves("c", false)
	s.leaves("d", false)
	if orphans := s.tracked(); len(orphans) != 3 {
		t.Errorf("orphans %v", orphans)
	}
	s.markSettled(s.now)
	s.see(fact("b", ready))
	s.after(time.Hour)
	if due := s.sends(); due.project || len(due.look) != 0 || len(s.pods) != 2 {
		t.Errorf("decision %+v with %d Pods", due, len(s.pods))
	}
}
