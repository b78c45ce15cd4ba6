package job

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// State is all that a Job workflow remembers: joined Pod facts, and what was
// decided from them. It is plain data that survives JSON, so that it can be
// carried over continue-as-new; slices are sorted.
//
// The functions of this package never change a State they are given; they
// return a new one.
type State struct {
	// Namespace, Name and UID are the Job's; Pod names are made from them.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Attempts is the highest number that a Pod of the Job has had. Of a Job without indexes
	// the next Pod has the next number.
	Attempts int64 `json:"attempts,omitempty"`
	// Pods are the Pods that are alive, terminating, or not yet counted and released; sorted
	// by attempt, name and UID.
	Pods []Pod `json:"pods,omitempty"`
	// Succeeded and Failed count the Pods that were given that Fate, ever. Of an
	// Indexed Job Succeeded is the number of Completed.
	Succeeded int32 `json:"succeeded,omitempty"`
	Failed    int32 `json:"failed,omitempty"`
	// Completed and FailedIndexes are the completion indexes that are over, one way
	// or the other (Indexed Jobs).
	Completed     Indexes `json:"completed,omitzero"`
	FailedIndexes Indexes `json:"failedIndexes,omitzero"`
	// Judged is what is known of spec.successPolicy.
	Judged Judged `json:"judged,omitzero"`
	// Backoff delays the next Pod after failures; Indexes do so where every index has a
	// back-off of its own.
	Backoff Backoff `json:"backoff,omitzero"`
	// Indexes are the records of indexes whose Pods have ended and that are not over.
	Indexes IndexRecords `json:"indexes,omitempty"`
	// Dropped says which indexes a lower spec.completions has dropped.
	Dropped Dropped `json:"dropped,omitzero"`
	// StartTime and CompletionTime are the status fields, in whole seconds.
	StartTime      time.Time `json:"startTime,omitzero"`
	CompletionTime time.Time `json:"completionTime,omitzero"`
	// Conditions are the condition types of batch/v1, in the order in which they
	// were appended. Conditions of other types are not Ostinato's.
	Conditions []batchv1.JobCondition `json:"conditions,omitempty"`
	// Verdict is what Pods are deleted for. It is recorded before the first of them is, and
	// stands even while the API server refuses the status that says so.
	Verdict Verdict `json:"verdict,omitzero"`
	// Concluded is set when all Pods that had not ended were deleted for the Verdict.
	Concluded bool `json:"concluded,omitempty"`
	// Written is the status the API server last accepted, without the strings of
	// indexes, which WrittenCompleted and WrittenFailed hold; nil before the first.
	Written          *batchv1.JobStatus `json:"written,omitempty"`
	WrittenCompleted Indexes            `json:"writtenCompleted,omitzero"`
	WrittenFailed    Indexes            `json:"writtenFailed,omitzero"`
	// Evidence are the Pods that failed last, oldest first; EvidenceOmitted counts
	// older ones.
	Evidence        []Attempt `json:"evidence,omitempty"`
	EvidenceOmitted int       `json:"evidenceOmitted,omitempty"`
	// CreateRetry and StatusRetry delay what the API server refused, ErrorRetry all that
	// is planned, after an error.
	CreateRetry Retry `json:"createRetry,omitzero"`
	StatusRetry Retry `json:"statusRetry,omitzero"`
	ErrorRetry  Retry `json:"errorRetry,omitzero"`
	// Skipped is the completion mode for which the Job's being skipped was announced.
	Skipped batchv1.CompletionMode `json:"skipped,omitempty"`
	// Announced are the Spec's Mistakes that were announced.
	Announced []string `json:"announced,omitempty"`
	// Silence says since when no fact has come.
	Silence Silence `json:"silence,omitzero"`
	// Listing is when the last list of the Pods was asked for.
	Listing time.Time `json:"listing,omitzero"`
	// Doubtful is set when something that the Job did, or did not, makes a list necessary
	// before anything else is planned.
	Doubtful bool `json:"doubtful,omitempty"`
	// Strange is set when a fact makes a list necessary soon: it names a Pod that is not in
	// Pods. Then the fact is late, or made up, or the Pod was let go and is the Job's again, or
	// its create had no answer.
	Strange bool `json:"strange,omitempty"`
	// Rebuild is set when the State can't be believed: the Job has a past that it does
	// not hold, or somebody else has counted.
	Rebuild bool `json:"rebuild,omitempty"`
	// Unanswered is set when the API server may have a status that the State does not know: the
	// call that wrote it had no answer, or is forgotten, and was for the spec before an edit or
	// counted a Pod that is disowned since. So the next is written even if nothing in it has
	// changed.
	Unanswered bool `json:"unanswered,omitempty"`
}

// Pod is one Pod of the Job: the join of the facts about it, and its Fate.
type Pod struct {
	PodFact
	// Fate is how the Pod was counted.
	Fate Fate `json:"fate,omitempty"`
	// Since is when the Pod was first planned with, where a start has a deadline.
	Since time.Time `json:"since,omitzero"`
	// Asked is set while the Pod's delete is under way: no answer to it has come, and a list
	// has not told either what became of it.
	Asked bool `json:"asked,omitempty"`
	// Retry delays the delete or release of this Pod, which failed.
	Retry Retry `json:"retry,omitzero"`
	// PendingFailed is set when the Pod was given up because it did not start in time.
	PendingFailed bool `json:"pendingFailed,omitempty"`
	// Announced is set when what is said once of the Pod was said with its release, which
	// may have failed.
	Announced bool `json:"announced,omitempty"`
}

// Fate says how a Pod was counted. Once given it never changes, whatever facts
// come later.
type Fate string

const (
	// Undecided Pods are not counted yet.
	Undecided Fate = ""
	// PodSucceeded and PodFailed were counted in status.succeeded and status.failed.
	PodSucceeded Fate = "Succeeded"
	PodFailed    Fate = "Failed"
	// PodIgnored failed and is not counted, by a rule of spec.podFailurePolicy.
	PodIgnored Fate = "Ignored"
	// PodUncounted will never be counted: removed by suspension or scale-down, or
	// left over when the Job succeeded or was deleted.
	PodUncounted Fate = "Uncounted"
)

// Backoff is the record that delays new Pods after failures (parity 2.9).
type Backoff struct {
	// Failures counts the Pods that failed since the last success.
	Failures int32 `json:"failures,omitempty"`
	// Last is when the last of them finished.
	Last time.Time `json:"last,omitzero"`
}

// Retry delays the repetition of something that the API server refused.
type Retry struct {
	// Refusals counts refusals in a row.
	Refusals int32 `json:"refusals,omitempty"`
	// Until is when to try again.
	Until time.Time `json:"until,omitzero"`
	// Message is the API server's.
	Message string `json:"message,omitempty"`
}

// Silence spaces the lists of the Job's Pods that guard against a lost fact.
type Silence struct {
	// Since is when the last fact came or the Pods were last listed.
	Since time.Time `json:"since,omitzero"`
	// Lists counts the lists in a row that brought nothing new.
	Lists int32 `json:"lists,omitempty"`
}

// NewState returns the State of a Job that nothing was done for yet.
func NewState(namespace, name, uid string) State {
	return State{Namespace: namespace, Name: name, UID: uid}
}

// Undecided returns the UIDs of the Pods whose end is not known yet, for a list of
// the Job's Pods.
func (s State) Undecided() []string {
	var uids []string
	for _, pod := range s.Pods {
		if pod.Fate == Undecided {
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

// finished reports how an undecided Pod is to be counted, if it is to be now. A
// Pod that is being deleted counts as failed at once unless the replacement
// policy waits for its end; one that vanished counts as failed (parity 2.6).
func (p Pod) finished(policy batchv1.PodReplacementPolicy) (fate Fate, ok bool) {
	switch {
	case p.Disowned:
		return PodUncounted, true
	case p.Phase == corev1.PodSucceeded:
		return PodSucceeded, true
	case p.Phase == corev1.PodFailed, p.Gone, p.PendingFailed:
		return PodFailed, true
	case p.Deleting && policy != batchv1.Failed:
		return PodFailed, true
	default:
		return Undecided, false
	}
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
