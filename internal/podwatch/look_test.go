package podwatch

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
		s.see(fact("a", deleting, ready, untracked))
		s.sends("a")
		s.after(time.Minute)
		s.leaves("a", false)
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
		s.leaves("a", false)
		if due := s.sends(); len(due.look) != 1 || due.look[0].Name != "a" {
			t.Fatalf("decision %+v", due)
		}
		s.isGone("a")
		if due := s.sends("a"); !due.facts[0].Gone || len(due.look) != 0 || len(s.pods) != 0 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("while it runs: it is looked up, and not the Job's any more", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", ready))
		s.leaves("a", false)
		s.isForeign("a")
		s.leaves("a", false) // its label is taken off
		if due := s.sends("a"); !due.facts[0].Disowned || due.facts[0].Gone || len(s.pods) != 0 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("being deleted, kept by its finalizer: it has lost its label, and is looked up", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", deleting))
		s.sends("a")
		s.leaves("a", false)
		if due := s.sends(); len(due.look) != 1 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("being deleted, with another controller: it is looked up", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", deleting))
		s.sends("a")
		s.leaves("a", true)
		if due := s.sends(); len(due.look) != 1 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("it comes back before the answer: the answer is stale", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a"))
		s.leaves("a", false)
		s.see(fact("a"))
		s.isGone("a")
		s.isForeign("a")
		if due := s.sends(); len(due.look) != 0 || s.remaining != 1 {
			t.Errorf("decision %+v", due)
		}
	})
	t.Run("it ended and was released by somebody: how it ended, and then nothing", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a"))
		s.leaves("a", false)
		s.answer("a", foundOut, sight{fact: fact("a", failed, untracked)}, s.now)
		if s.sends("a"); len(s.pods) != 0 {
			t.Error("the Pod is remembered though nothing will be heard of it")
		}
	})
	t.Run("ended, but nobody was told yet: it is looked up", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", failed))
		s.leaves("a", false)
		s.isGone("a")
		if due := s.sends("a"); !due.facts[0].Gone || due.facts[0].Phase != corev1.PodFailed {
			t.Errorf("fact %+v", due.facts[0])
		}
	})
	t.Run("ended, told and released while the signal was under way: nothing", func(t *testing.T) {
		s := newScene(t)
		s.see(fact("a", succeeded))
		facts := s.decide(s.now).facts
		s.leaves("a", false)
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
		s.leaves("a", false)
		s.after(time.Hour)
		if due := s.sends(); len(due.look) != 0 || len(s.pods) != 0 {
			t.Errorf("decision %+v", due)
		}
	})
}

func TestPodWhoseLabelsMayNotMatchIsLookedUpFirst(t *testing.T) {
	s := newScene(t)
	s.seeUnproven(fact("a", succeeded))
	if due := s.sends(); len(due.look) != 1 {
		t.Fatalf("decision %+v", due)
	}
	s.isFound(fact("a", succeeded))
	s.sends("a")
}

func TestLookUpDoesNotTakeBackWhatTheWatchHasSeenSince(t *testing.T) {
	at := func(version int64) func(*job.PodFact) { return func(f *job.PodFact) { f.Version = version } }
	s := newScene(t)
	s.seeUnproven(fact("a", at(7)))
	s.decide(s.now)
	s.seeUnproven(fact("a", ready, at(8)))
	s.isFound(fact("a", at(7)))
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
		s.leaves(name, false)
	}
	if due := s.decide(s.now); len(due.look) != lookups {
		t.Errorf("%d Pods are looked up at once", len(due.look))
	}
}
