package job

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// State is all that a Job workflow remembers: joined Pod facts and the decisions made from
// them. It is plain data that survives JSON, for continue-as-new; slices are sorted.
// The functions of this package return a new State and never change the one they are given.
type State struct {
	// Namespace, Name and UID are the Job's; Pod names are made from them.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Attempts is the highest number of any Pod so far. Without indexes the next Pod gets the next.
	Attempts int64 `json:"attempts,omitempty"`
	// Pods are alive, terminating, or not yet counted and released; sorted by attempt, name and UID.
	Pods []Pod `json:"pods,omitempty"`
	// Succeeded and Failed count all Pods of that Fate. In an Indexed Job Succeeded is the number of Completed.
	Succeeded int32 `json:"succeeded,omitempty"`
	Failed    int32 `json:"failed,omitempty"`
	// Completed and FailedIndexes are the completion indexes that are over (Indexed Jobs).
	Completed     Indexes `json:"completed,omitzero"`
	FailedIndexes Indexes `json:"failedIndexes,omitzero"`
	// Judged is what is known of spec.successPolicy.
	Judged Judged `json:"judged,omitzero"`
	// Backoff delays the next Pod after failures, unless each index has a back-off (Indexes).
	Backoff Backoff `json:"backoff,omitzero"`
	// Indexes are the records of indexes whose Pods have ended and that are not over.
	Indexes IndexRecords `json:"indexes,omitempty"`
	// Dropped says which indexes a lower spec.completions has dropped.
	Dropped Dropped `json:"dropped,omitzero"`
	// StartTime and CompletionTime are the status fields, in whole seconds.
	StartTime      time.Time `json:"startTime,omitzero"`
	CompletionTime time.Time `json:"completionTime,omitzero"`
	// Conditions are those of batch/v1's types, in the order in which they were appended.
	Conditions []batchv1.JobCondition `json:"conditions,omitempty"`
	// Verdict is recorded before the first Pod is deleted for it, and stands while the status with it is refused.
	Verdict Verdict `json:"verdict,omitzero"`
	// Concluded is set when all Pods that had not ended were deleted for the Verdict.
	Concluded bool `json:"concluded,omitempty"`
	// Written is the status the API server last accepted, or nil. WrittenCompleted and WrittenFailed are its indexes.
	Written          *batchv1.JobStatus `json:"written,omitempty"`
	WrittenCompleted Indexes            `json:"writtenCompleted,omitzero"`
	WrittenFailed    Indexes            `json:"writtenFailed,omitzero"`
	// Evidence describes the Pods that failed last, oldest first. EvidenceOmitted counts older ones.
	Evidence        []Attempt `json:"evidence,omitempty"`
	EvidenceOmitted int       `json:"evidenceOmitted,omitempty"`
	// CreateRetry and StatusRetry delay what was refused or had no answer. After an error, ErrorRetry delays everything.
	CreateRetry Retry `json:"createRetry,omitzero"`
	StatusRetry Retry `json:"statusRetry,omitzero"`
	ErrorRetry  Retry `json:"errorRetry,omitzero"`
	// Announced are the Warnings that were emitted and are not to be repeated: the Spec's Mistakes, mostly.
	Announced []string `json:"announced,omitempty"`
	// Listing is when the last list of the Pods was asked for.
	Listing time.Time `json:"listing,omitzero"`
	// Late is until when creates may land that had no answer. The Pods are listed then, and the Job does not end before.
	Late time.Time `json:"late,omitzero"`
	// Taken is until when creates may land whose names other Pods have taken by then: if such a Pod goes, they are late.
	Taken time.Time `json:"taken,omitzero"`
	// Open are the numbers of such creates, which are asked for again, of a Job without indexes.
	Open []int64 `json:"open,omitempty"`
	// NeedsList: the Pods must be listed before anything else is planned.
	NeedsList bool `json:"doubtful,omitempty"`
	// Doubt: the Pods are to be listed soon. A fact named a Pod that is not in Pods: it is late or made up, the Pod was let go and
	// adopted again, or its create had no answer. Or a watch sees other Pods than the status counts.
	Doubt bool `json:"doubt,omitempty"`
	// Removing: surplus Pods were chosen from a list, and some of them are yet to be removed.
	Removing bool `json:"removing,omitempty"`
	// Rebuild: the State is wrong, since it lacks the Job's past or another controller has counted.
	Rebuild bool `json:"rebuild,omitempty"`
	// Unanswered: the API server may have a status that the State does not know, by a call that
	// had no answer or by a lost workflow task. So the next status is written even if nothing has changed.
	Unanswered bool `json:"unanswered,omitempty"`
}

// Pod is one Pod of the Job: the join of the facts about it, and its Fate.
type Pod struct {
	PodFact
	// Fate is how the Pod was counted.
	Fate Fate `json:"fate,omitempty"`
	// Since is when the Pod was first planned with, where a start has a deadline.
	Since time.Time `json:"since,omitzero"`
	// Asked: the Pod's delete is under way, with neither an answer nor a list since.
	Asked bool `json:"asked,omitempty"`
	// Stated: a status was accepted that counts the Pod.
	Stated bool `json:"stated,omitempty"`
	// Doubted: what was heard of the Pod was not so (Report.Unseen). If the next list lacks it, it is not counted.
	Doubted bool `json:"doubted,omitempty"`
	// Retry delays the delete or release of this Pod, which failed.
	Retry Retry `json:"retry,omitzero"`
	// PendingFailed: the Pod was given up because it did not start in time.
	PendingFailed bool `json:"pendingFailed,omitempty"`
	// Announced: the Pod's Events were emitted with its release, which may have failed.
	Announced bool `json:"announced,omitempty"`
}

// Fate says how a Pod was counted. Once given it never changes, whatever facts come later.
type Fate string

const (
	// Undecided Pods are not counted yet.
	Undecided Fate = ""
	// PodSucceeded and PodFailed were counted in status.succeeded and status.failed.
	PodSucceeded Fate = "Succeeded"
	PodFailed    Fate = "Failed"
	// PodIgnored failed and is not counted, by a rule of spec.podFailurePolicy.
	PodIgnored Fate = "Ignored"
	// PodUncounted is never counted: removed by suspension or scale-down, or left when the Job succeeded or was deleted.
	PodUncounted Fate = "Uncounted"
)

// Backoff is the record that delays new Pods after failures (parity 2.9).
type Backoff struct {
	// Failures counts the Pods that failed since the last success.
	Failures int32 `json:"failures,omitempty"`
	// Last is when the last of them finished.
	Last time.Time `json:"last,omitzero"`
}

// Retry delays the repetition of something that was refused, mostly by the API server, or had no answer.
type Retry struct {
	// Refusals counts refusals in a row.
	Refusals int32 `json:"refusals,omitempty"`
	// Until is when to try again.
	Until time.Time `json:"until,omitzero"`
	// Message says why.
	Message string `json:"message,omitempty"`
}

// Doubted returns the State of a Job whose Pods are to be listed soon, and whose status is to be written again: one of them is not as
// the State has it.
func (s State) Doubted() State {
	s.Doubt, s.Unanswered = true, true
	return s
}

// Awaits returns the State of a Job whose creates may land although they had no answer.
func (s State) Awaits(now time.Time) State {
	s.Late = now.Add(landsWithin)
	return s
}

// AwaitsLeft returns the State after a Plan was carried out by an attempt before which another one may have been left to itself: what
// that one has asked for may land, or once its name is free if the Pod was created since.
func (s State) AwaitsLeft(plan Plan, created []CreatedPod, now time.Time) State {
	for _, create := range plan.Creates {
		if !slices.ContainsFunc(created, func(made CreatedPod) bool { return made.Name == create.Name }) {
			return s.Awaits(now)
		}
	}
	s.Taken = now.Add(landsWithin)
	return s
}

// Of returns the State as that of this Job, whatever it says itself.
func (s State) Of(namespace, name, uid string) State {
	s.Namespace, s.Name, s.UID = namespace, name, uid
	return s
}

// Resume returns the State of a Job that a workflow takes over from the one before. A time of a failure that has not come is cut
// to now, a create without an answer lands within 40 s, and what is delayed with a Pod waits for DefaultBackoffCap at most: a node's clock may be ahead, the Job may have been
// edited, and the State may be forged.
func Resume(state State, namespace, name, uid string, now time.Time) State {
	state = state.Of(namespace, name, uid)
	state.Backoff.Last = notAfter(now, state.Backoff.Last)
	state.Indexes = slices.Clone(state.Indexes)
	for i := range state.Indexes {
		state.Indexes[i].Last = notAfter(now, state.Indexes[i].Last)
	}
	lands := now.Add(landsWithin)
	state.Late, state.Taken = notAfter(lands, state.Late), notAfter(lands, state.Taken)
	state.Pods = slices.Clone(state.Pods)
	for i := range state.Pods {
		state.Pods[i].Retry.Until = notAfter(now.Add(DefaultBackoffCap), state.Pods[i].Retry.Until)
	}
	return state
}

// notAfter returns the time, or the latest one if it is later.
func notAfter(latest, t time.Time) time.Time {
	if t.After(latest) {
		return latest.UTC()
	}
	return t
}

// BeingDeleted returns the UIDs of the Pods that are being deleted and whose end is not known yet. It is never nil.
func (s State) BeingDeleted() []string {
	return s.uids(func(pod Pod) bool { return pod.Fate == Undecided && pod.terminating() })
}

// PodName names a Pod, and tells it from another that has its name later.
type PodName struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Undecided returns the Pods whose end is not known yet, for a list.
func (s State) Undecided() []PodName {
	var undecided []PodName
	for _, pod := range s.Pods {
		if pod.Fate == Undecided {
			undecided = append(undecided, PodName{pod.Name, pod.UID})
		}
	}
	return undecided
}

func (s State) uids(match func(Pod) bool) []string {
	uids := []string{}
	for _, pod := range s.Pods {
		if match(pod) {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}

// done reports whether the Pod can't run any more.
func (p Pod) done() bool { return p.Ended() || p.Disowned }

// active Pods run or are about to (parity 2.6).
func (p Pod) active() bool { return !p.done() && !p.Deleting }

// terminating Pods still run and are being deleted (parity 2.6).
func (p Pod) terminating() bool { return !p.done() && p.Deleting }

// finished returns how an undecided Pod is to be counted now. One that is being deleted counts as failed unless the
// replacement policy waits for its end (parity 2.6), or it was given up: one whose delete has failed may start after all.
func (p Pod) finished(policy batchv1.PodReplacementPolicy) Fate {
	switch {
	case p.Disowned:
		return PodUncounted
	case p.Phase == corev1.PodSucceeded:
		return PodSucceeded
	case p.Phase == corev1.PodFailed, p.Gone, p.Deleting && (p.PendingFailed || policy != batchv1.Failed):
		return PodFailed
	}
	return Undecided
}

func (p *pass) active() int32 { return p.state.tally(Pod.active) + int32(len(p.plan.Creates)) }

func (p *pass) terminating() int32 { return p.state.tally(Pod.terminating) }

func (s State) tally(match func(Pod) bool) int32 {
	count := int32(0)
	for _, pod := range s.Pods {
		if match(pod) {
			count++
		}
	}
	return count
}

// leavesItsName reports whether another Pod of the name can be made, now or soon.
func (p Pod) leavesItsName() bool { return p.Gone || p.Deleting || p.Removed }
