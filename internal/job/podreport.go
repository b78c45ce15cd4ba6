package job

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// takePodReports takes in what deletes and releases of single Pods came to.
func (s *State) takePodReports(plan Plan, report Report, now time.Time) {
	s.Pods = slices.Clone(s.Pods)
	s.takeVanished(report.Vanished)
	s.takeFound(plan, report.Found)
	s.takeFailures(plan, report.Failures, now)
}

func (s *State) takeVanished(uids []string) {
	known := byUID(s.Pods)
	for _, uid := range uids {
		if i, ok := known[uid]; ok {
			s.Pods[i].Gone = true
		}
	}
}

// takeFound takes in Pods that are not as a plan believed, with which nothing was done.
// One that was to be removed uncounted and had ended is counted by the next plan. One that
// was counted as ended and has not ended shows that a fact was false: what else the State
// holds is not to be believed either.
func (s *State) takeFound(plan Plan, found []PodFact) {
	known, before := byUID(s.Pods), byUID(plan.before.Pods)
	for _, fact := range found {
		i, ok := known[fact.UID]
		if !ok {
			continue
		}
		j, planned := before[fact.UID]
		deleted := slices.ContainsFunc(plan.Deletes, func(wanted Delete) bool { return wanted.UID == fact.UID })
		switch {
		case deleted && planned && !fact.Disowned:
			s.Pods[i] = plan.before.Pods[j]
		case !deleted && !fact.Disowned:
			s.Rebuild = true
			s.Pods[i].Tracked = fact.Tracked
			continue
		}
		s.Pods[i].PodFact = join(s.Pods[i].PodFact, fact.plausible())
	}
}

// takeFailures delays what the API server would not do with single Pods. They concern no
// other Pod, and nothing else of the Job.
func (s *State) takeFailures(plan Plan, failures []PodFailure, now time.Time) {
	known, before := byUID(s.Pods), byUID(plan.before.Pods)
	for _, failure := range failures {
		i, ok := known[failure.UID]
		if !ok {
			continue
		}
		pod := &s.Pods[i]
		pod.Retry = pod.Retry.refusedPod(plan.config, failure.Message, now)
		j, planned := before[failure.UID]
		target := slices.IndexFunc(plan.Deletes, func(wanted Delete) bool { return wanted.UID == failure.UID })
		switch {
		case target < 0:
			pod.Tracked = true
		case planned:
			// It runs on, and counts as active. What was counted stays so.
			pod.Deleting, pod.Tracked = plan.before.Pods[j].Deleting, plan.before.Pods[j].Tracked
			switch {
			case failure.Released:
				pod.Tracked, pod.Removed, pod.Asked = false, true, true
			case plan.Deletes[target].Release:
				pod.Fate = plan.before.Pods[j].Fate
			}
		}
	}
}

// refusedPod is refused for a single Pod, whose trouble may last: up to the cap of the
// back-off after failures.
func (r Retry) refusedPod(config Config, message string, now time.Time) Retry {
	r.Refusals++
	r.Until = now.Add(doubled(config.RetryBase, max(config.RetryCap, config.BackoffCap), r.Refusals))
	r.Message = message
	return r
}

// delayed reports whether what failed with a Pod is not to be tried yet, and plans to wake
// when it is.
func (p *pass) delayed(pod Pod) bool {
	if !p.now.Before(pod.Retry.Until) {
		return false
	}
	p.wake(pod.Retry.Until, WakePodRetry)
	return true
}

// mayDelete reports whether this plan has room for the delete of a Pod, which has not just failed.
// The next plan deletes the others.
func (p *pass) mayDelete(pod Pod) bool {
	return len(p.plan.Deletes) < p.config.MaxPods && !p.delayed(pod)
}

// failing says in words which Pods the API server would not delete or release.
func (p *pass) failing() string {
	count, first := 0, Pod{}
	for _, pod := range p.state.Pods {
		if p.now.Before(pod.Retry.Until) {
			if count++; count == 1 {
				first = pod
			}
		}
	}
	if count == 0 {
		return ""
	}
	what := "released"
	if first.active() {
		what = "deleted"
	}
	text := fmt.Sprintf("Pod %s could not be %s (%s); next attempt at %s", first.Name, what, first.Retry.Message, first.Retry.Until.UTC().Format(time.RFC3339))
	if count > 1 {
		text += fmt.Sprintf(", and so for %d more", count-1)
	}
	return text
}

// counted lists the Pods that the status counts and that still carry the finalizer. Once
// a Job has ended nothing is counted again, so that there is nothing to note.
func (s State) counted() []string {
	if s.terminal() != nil {
		return nil
	}
	var uids []string
	for _, pod := range s.Pods {
		if pod.Tracked && !pod.Gone && !pod.Disowned && (pod.Fate == PodSucceeded || pod.Fate == PodFailed || pod.Fate == PodIgnored) {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}

// takeCounted gives the Pods their fate that the Job's status counts already.
func (s *State) takeCounted(uids []string) {
	for i := range s.Pods {
		pod := &s.Pods[i]
		if pod.Fate != Undecided || !slices.Contains(uids, pod.UID) {
			continue
		}
		pod.Fate = PodFailed
		if pod.Phase == corev1.PodSucceeded {
			pod.Fate = PodSucceeded
		}
	}
}
