package activities

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

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

func TestLookUpDoesNotTakeBackWhatTheWatchHasSeenSince(t *testing.T) {
	at := func(version int64) func(*job.PodFact) { return func(f *job.PodFact) { f.Version = version } }
	s := newScene(t)
	s.observe(fact("a", at(7)), false, false, false, s.now)
	s.decide(s.now)
	s.observe(fact("a", ready, at(8)), false, false, false, s.now)
	s.found(fact("a", at(7)), false)
	s.sends()
	s.after(readyDelay)
	if due := s.sends(); !due.project || due.ready != 1 {
		t.Errorf("decision %+v", due)
	}
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
