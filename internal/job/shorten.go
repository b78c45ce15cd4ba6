package job

import (
	"cmp"
	"encoding/json"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// longList is the size from which on a list of facts is shortened, in bytes of JSON.
const longList = 3 << 20

// Shortened returns the facts without what nothing is decided from, where they are long in
// sum: thousands of Pods that all failed, or all wait, have much to say. The Pods that were
// asked for last, as many as keep, keep their messages, and a Pod keeps the exit or condition
// by which a rule of the podFailurePolicy matches it.
func Shortened(facts []PodFact, spec Spec, keep int) []PodFact {
	if data, err := json.Marshal(facts); err == nil && len(data) <= longList {
		return facts
	}
	last := make([]int, len(facts))
	for i := range last {
		last[i] = i
	}
	slices.SortStableFunc(last, func(a, b int) int { return cmp.Compare(facts[a].Attempt, facts[b].Attempt) })
	for i, at := range last {
		fact := facts[at].decisive(spec.PodFailurePolicy)
		if i < len(facts)-keep {
			fact.Message, fact.PendingMessage = "", ""
		}
		facts[at] = fact
	}
	return facts
}

// decisive leaves out the exits and conditions that do not decide how the policy, which is
// immutable, handles the Pod.
func (f PodFact) decisive(policy *batchv1.PodFailurePolicy) PodFact {
	handled := handle(policy, "", Pod{PodFact: f})
	one := f
	one.Exits, one.Conditions = nil, nil
	if handled == (handling{}) {
		return one
	}
	for i := range f.Exits {
		if one.Exits = f.Exits[i : i+1]; handle(policy, "", Pod{PodFact: one}) == handled {
			return one
		}
	}
	one.Exits = nil
	for i := range f.Conditions {
		if one.Conditions = f.Conditions[i : i+1]; handle(policy, "", Pod{PodFact: one}) == handled {
			return one
		}
	}
	return f
}
