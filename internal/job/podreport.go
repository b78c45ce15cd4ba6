package job

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// takePodReports takes in the results of deletes and releases of single Pods.
func (s *State) takePodReports(plan Plan, report Report, now time.Time) {
	known, before := byUID(s.Pods), byUID(plan.before.Pods)
	deletes := make(map[string]Delete, len(plan.Deletes))
	for _, target := range plan.Deletes {
		deletes[target.UID] = target
	}
	for _, uid := range report.Vanished {
		if pod := known[uid]; pod != nil {
			pod.Gone = true
		}
	}
	for _, fact := range report.Unexpected {
		pod, planned := known[fact.UID], before[fact.UID]
		if pod == nil {
			continue
		}
		if _, deleted := deletes[fact.UID]; deleted && planned != nil && !fact.Disowned {
			// It was to be removed uncounted and had ended: the next plan counts it.
			*pod = *planned
		}
		pod.PodFact = join(pod.PodFact, fact.plausible())
	}
	for _, failure := range report.Failures {
		pod, planned := known[failure.UID], before[failure.UID]
		if pod == nil {
			continue
		}
		if failure.Unnoted {
			pod.Tracked, s.Unanswered = true, true
			continue
		}
		target, deleted := deletes[failure.UID]
		if deleted && failure.Unclear {
			// A list tells what became of the Pod.
			pod.Asked = pod.Asked || target.Release || plan.before.decided() != nil
			s.NeedsList = true
		} else {
			pod.Retry = pod.Retry.refused(plan.podRetryCap, failure.Message, now)
		}
		switch {
		case !deleted:
			pod.Tracked = true
		case planned != nil:
			// It runs on, and counts as active. What was counted stays so.
			pod.Deleting, pod.Tracked, pod.Asked = planned.Deleting, planned.Tracked, pod.Asked || planned.Asked
			switch {
			case failure.Released:
				pod.Tracked, pod.Removed, pod.Asked = false, true, true
			case target.Release:
				pod.Fate = planned.Fate
			}
		}
	}
}

// delayed reports whether what failed with a Pod is not to be tried yet, and plans to wake when it is.
func (p *pass) delayed(pod Pod) bool { return p.waits(pod.Retry.Until, WakePodRetry) }

// mayDelete reports whether this plan has room for the delete of a Pod that has not just failed.
func (p *pass) mayDelete(pod Pod) bool { return len(p.plan.Deletes) < perPlan && !p.delayed(pod) }

// failing says in words which Pods the API server would not delete or release.
func (p *pass) failing() string {
	isFailing := func(pod Pod) bool { return p.now.Before(pod.Retry.Until) }
	place := slices.IndexFunc(p.state.Pods, isFailing)
	if place < 0 {
		return ""
	}
	first, what := p.state.Pods[place], "released"
	if first.active() {
		what = "deleted"
	}
	text := fmt.Sprintf("Pod %s could not be %s (%s); next attempt at %s",
		first.Name, what, first.Retry.Message, first.Retry.Until.UTC().Format(time.RFC3339))
	if count := p.state.tally(isFailing); count > 1 {
		text += fmt.Sprintf(", and so for %d more", count-1)
	}
	return text
}

// counted lists the Pods that the status counts, those of this plan first, and before others that carry the finalizer. Pods that end
// without a valid index are among them, to be released, and those that count as terminating. When the Job is deleted or has
// succeeded it takes in no counts, and the rest is released as it is.
func (p *pass) counted() []Counted {
	verdict := p.state.decided()
	closed := p.spec.Deleting || verdict != nil && !verdict.failure()
	var fresh, others []Counted
	for _, pod := range p.state.Pods {
		counted := Counted{pod.Name, pod.UID, pod.Fate}
		tracked := pod.Tracked && !pod.Gone && !pod.Disowned
		switch {
		case pod.unstated(), pod.Fate == Undecided && pod.terminating() && !closed:
			fresh = append(fresh, counted)
		case tracked && pod.Fate != Undecided && (pod.Fate != PodUncounted || !closed):
			others = append(others, counted)
		}
	}
	counted := append(fresh, others...)
	return counted[:min(len(counted), MaxCounted)]
}

// unstated reports whether the Pod is in the counters of the State, and in no status yet.
func (p Pod) unstated() bool { return !p.Stated && (p.Fate == PodSucceeded || p.Fate == PodFailed) }

// takeCounted gives the Pods their fate that the Job's status counts already.
func (s *State) takeCounted(uids []string) {
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.Fate != Undecided || !slices.Contains(uids, pod.UID) {
			continue
		}
		pod.Fate, pod.Stated = PodFailed, true
		if pod.Phase == corev1.PodSucceeded {
			pod.Fate = PodSucceeded
		} else if pod.active() {
			// It was given up, or was to be removed, and its delete has failed.
			pod.Fate, pod.Asked = PodUncounted, true
		}
		if verdict := s.decided(); pod.Fate == PodFailed && verdict != nil && !pod.Ended() {
			s.remember(*pod, pod.endedFor(*verdict))
		} else if pod.Fate == PodFailed {
			s.remember(*pod, pod.endedBy())
		}
	}
}
