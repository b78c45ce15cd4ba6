package job

import (
	"time"

	"ostinato.dev/ostinato/internal/names"
)

// create asks for Pods, unless failures or a refusal delay them.
func (p *pass) create(missing int) {
	if !p.spec.perIndex() && p.waits(p.spec.due(p.state.Backoff), WakeBackoff) || p.waits(p.state.CreateRetry.Until, WakeCreateRetry) {
		return
	}
	if p.listed && p.state.CreateRetry.Refusals > 0 {
		// The status comes first: where each plan has a create without an answer, none that creates writes it.
		return
	}
	missing = max(min(missing, perPlan, MaxStatePods-len(p.state.Pods)), 0)
	if p.spec.indexed() {
		p.createIndexes(missing)
		return
	}
	for i := range missing {
		attempt := p.state.Attempts + int64(i-len(p.state.Open)) + 1
		if i < len(p.state.Open) {
			attempt = p.state.Open[i]
		}
		p.plan.Creates = append(p.plan.Creates, Create{Name: names.Pod(p.state.Name, p.state.UID, attempt), Attempt: attempt})
	}
}

// createIndexes asks for Pods of the lowest indexes. One is numbered by how many of its index have ended or were removed.
func (p *pass) createIndexes(missing int) {
	indexes, due := p.pendingIndexes(missing)
	last := map[int32]int64{}
	for _, pod := range p.state.Pods {
		if pod.Index != nil {
			last[*pod.Index] = max(last[*pod.Index], pod.Attempt)
		}
	}
	for _, index := range indexes {
		record := p.state.Indexes.of(index)
		attempt := max(record.Attempts, last[index], p.state.Dropped.of(index)) + 1
		p.plan.Creates = append(p.plan.Creates, Create{
			Name: names.IndexedPod(p.state.Name, p.state.UID, index, attempt), Attempt: attempt,
			Index: &index, Failures: record.Failures, Ignored: record.Ignored,
		})
	}
	if len(indexes) < missing && !due.IsZero() {
		p.wake(due, WakeBackoff)
	}
}

// MaxFirst bounds the Pods that are made with a Job.
const MaxFirst = 10

// First returns the creates of the plan that a new Job's workflow begins with, MaxFirst at most: they follow from the Job.
func First(namespace, name, uid string, spec Spec, now time.Time) []Create {
	creates := Decide(Begin(namespace, name, uid, spec, false), spec, now).Creates
	return creates[:min(len(creates), MaxFirst)]
}

// Made returns the State of a new Job with the Pods that were made with it (First). If they are made up, and so not
// those of First, a list tells.
func (s State) Made(spec Spec, pods []CreatedPod, now time.Time) State {
	if len(pods) == 0 {
		return s
	}
	before := len(s.Pods)
	s.takeCreated(Decide(s, spec, now).Creates, pods, false)
	s.NeedsList = s.NeedsList || len(s.Pods)-before != len(pods)
	return s
}
