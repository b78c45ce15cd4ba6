package bridge

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Times of the rules that no flag sets.
const (
	// firstRepeat is how long the workflow has to take a generation, or to start an overdue run, before the message is
	// sent again. It doubles up to lastRepeat.
	firstRepeat = 30 * time.Second
	lastRepeat  = 10 * time.Minute
)

// attempts is how often one thing was tried, such as to send a generation, and when last.
type attempts[T comparable] struct {
	of    T
	times int
	last  time.Time
}

// at returns the attempts of a thing: none where those that are known are of another.
func (a attempts[T]) at(what T) attempts[T] {
	if a.of != what {
		return attempts[T]{of: what}
	}
	return a
}

// another counts one more attempt.
func (a attempts[T]) another(now time.Time) attempts[T] { return attempts[T]{a.of, a.times + 1, now} }

// wait is how long to wait with the next attempt.
func (a attempts[T]) wait(now time.Time) time.Duration { return repeatWait(a.times) - now.Sub(a.last) }

// repeatWait returns how long to wait before the next attempt. times counts those made.
func repeatWait(times int) time.Duration {
	if times == 0 {
		return 0
	}
	// Five doublings are beyond lastRepeat; many more would be beyond a Duration.
	return min(firstRepeat<<min(times-1, 5), lastRepeat)
}

// cronJobMemory is what the bridge remembers of a CronJob. Losing it costs repeated messages only.
type cronJobMemory struct {
	uid string
	// sent counts the messages about a generation: the one sent last, or the observed one, which needs none.
	sent attempts[int64]
	// nudges are of the next schedule time, in Unix seconds.
	nudges attempts[int64]
	// closings are the runs that ended and that status still lists as active.
	closings []closing
	reported reports
}

// action says what to send for a CronJob or a Job.
type action string

const (
	leave  action = ""       // nothing
	send   action = "send"   // the spec, by signal with start
	nudge  action = "nudge"  // the spec of a CronJob with Overdue set, by signal with start
	ensure action = "ensure" // a start that does nothing when the workflow runs
)

// decision is what to do for a CronJob or a Job now, and when to look again at the latest; 0 means at the next change.
type decision struct {
	action action
	again  time.Duration
	// stale asks to end a workflow that began before this time, when the built-in controller went on; zero asks for nothing.
	stale time.Time
	// runningOnly asks to send a Job's spec only to a workflow that runs: the CronJob's workflow is about to start it.
	runningOnly bool
	// insist asks to send a Job's spec when a start meets a running workflow, perhaps that of a Job of its name that is gone.
	insist bool
	// taken says that the Job's workflow has this spec already.
	taken bool
}

// decideCronJob decides what to send for a CronJob that exists. Its status says what the workflow
// has taken. With sweep, the workflow of one that needs nothing is started: it may have been lost. overdue is overdueCronJob.
func decideCronJob(cronJob *ostinatov1.CronJob, reference ostinatov1.WorkflowReference, memory cronJobMemory, sweep, overdue bool, now time.Time) decision {
	var decided decision
	switch {
	// An earlier generation than the workflow has taken: the API server was restored, with a status that calls this one taken.
	case !acknowledgedCronJob(cronJob, reference), cronJob.Generation < memory.sent.of:
		decided = repeated(send, memory.sent.at(cronJob.Generation), now)
	case overdue:
		decided = repeated(nudge, memory.nudgesFor(cronJob), now)
	case sweep:
		decided.action = ensure
	}
	// What was sent or seen taken since leader start is known to come after.
	if before, last := builtInWroteLast(cronJob); last && memory.sent.of == 0 {
		decided.stale = before
		decided.action = cmp.Or(decided.action, ensure)
	}
	return decided
}

// repeated is the decision for a message that was sent before: to wait, while the next is not due.
func repeated(message action, before attempts[int64], now time.Time) decision {
	if wait := before.wait(now); wait > 0 {
		return decision{again: wait}
	}
	return decision{action: message, again: repeatWait(before.times + 1)}
}

// acknowledgedCronJob reports whether this object's workflow, in this Temporal namespace, has taken the object's generation.
func acknowledgedCronJob(cronJob *ostinatov1.CronJob, reference ostinatov1.WorkflowReference) bool {
	return cronJob.Status.Workflow != nil && *cronJob.Status.Workflow == reference &&
		cronJob.Status.ObservedGeneration == cronJob.Generation
}

// overdueCronJob reports whether the time of the next run has passed, by more than the grace, without a run. A timer
// may be lost (temporalio/temporal#11869). Where the run has its Job, the status is late, as it is in a herd: its workflow is
// given longer.
func overdueCronJob(cronJob *ostinatov1.CronJob, run *batchv1.Job, grace time.Duration, now time.Time) bool {
	if run != nil {
		grace = max(grace, lastRepeat)
	}
	next := cronJob.Status.NextScheduleTime
	return !ptr.Deref(cronJob.Spec.Suspend, false) && cronJob.DeletionTimestamp == nil && next != nil && now.Sub(next.Time) > grace
}

// of is what is remembered of this very object.
func (m cronJobMemory) of(cronJob *ostinatov1.CronJob) cronJobMemory {
	if m.uid != string(cronJob.UID) {
		return cronJobMemory{uid: string(cronJob.UID)}
	}
	return m
}

// nudgesFor is how often the workflow was nudged for the run that is due.
func (m cronJobMemory) nudgesFor(cronJob *ostinatov1.CronJob) attempts[int64] {
	return m.nudges.at(cronJob.Status.NextScheduleTime.Unix())
}
