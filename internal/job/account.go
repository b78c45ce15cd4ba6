package job

import (
	"slices"
	"time"
)

// countFinished gives every Pod that ended since the last plan its Fate, adds it
// to the counters and keeps the back-off record.
func (p *pass) countFinished() {
	var successes, failures []time.Time
	for i := range p.state.Pods {
		pod := &p.state.Pods[i]
		if pod.Fate != Undecided {
			continue
		}
		fate, ok := pod.finished(p.spec.PodReplacementPolicy)
		switch {
		case ok && !pod.Tracked && !p.state.named(*pod):
			// Another's Pod that never carried the finalizer, or a Pod that an earlier
			// workflow of the Job has counted: not countable (parity 2.6).
			pod.Fate = PodUncounted
		case ok:
			p.count(pod, fate)
			finished := pod.Finished
			if finished.IsZero() || finished.After(p.now) {
				finished = p.now
			}
			if fate == PodSucceeded {
				successes = append(successes, finished)
			} else {
				failures = append(failures, finished)
			}
		}
	}
	p.state.Backoff = p.state.Backoff.after(successes, failures)
}

func (p *pass) count(pod *Pod, fate Fate) {
	pod.Fate = fate
	switch fate {
	case PodSucceeded:
		p.state.Succeeded++
	case PodFailed:
		p.state.Failed++
	}
}

// after returns the record after Pods finished at the given times: failures add
// up until a success, and only those that finished after the newest success count
// on (parity 2.9).
func (b Backoff) after(successes, failures []time.Time) Backoff {
	if len(successes) > 0 {
		newest := slices.MaxFunc(successes, time.Time.Compare)
		failures = slices.DeleteFunc(failures, func(finished time.Time) bool { return !finished.After(newest) })
		b = Backoff{}
	}
	for _, finished := range failures {
		b.Failures++
		b.Last = later(b.Last, finished)
	}
	return b
}

// release asks to let go of every Pod whose outcome is recorded.
func (p *pass) release() {
	for _, pod := range p.state.Pods {
		if !pod.exists() || pod.Gone || !pod.Tracked || pod.Fate == Undecided {
			continue
		}
		if len(p.outcome.Releases) == p.config.MaxPods {
			p.capped = true
			return
		}
		p.outcome.Releases = append(p.outcome.Releases, Release{Name: pod.Name, UID: pod.UID})
	}
}

// prune forgets the Pods that are over, counted and released. What is needed to
// know late facts about them stays (Attempts, Accounted).
func (s State) prune() State {
	known := newIndex(s.Pods)
	s.Pods = slices.Clone(s.Pods)
	s.Accounted = slices.Clone(s.Accounted)
	s.Pods = slices.DeleteFunc(s.Pods, func(pod Pod) bool {
		over := pod.exists() && pod.Fate != Undecided && (pod.Gone || pod.terminal() && !pod.Tracked)
		if over && (!s.named(pod) || known.names[pod.Name] > 1) {
			if i, found := slices.BinarySearch(s.Accounted, pod.UID); !found {
				s.Accounted = slices.Insert(s.Accounted, i, pod.UID)
			}
		}
		return over
	})
	return s
}
