package bridge

import (
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Times of the rules that no flag sets.
const (
	// firstRepeat is how long the workflow has to take a generation, or to start an
	// overdue run, before the message is sent again. It doubles up to lastRepeat.
	firstRepeat = 30 * time.Second
	lastRepeat  = 10 * time.Minute
)

// attempts is how often something was tried, and when last.
type attempts struct {
	times int
	last  time.Time
}

// wait is how long to wait with the next attempt.
func (a attempts) wait(now time.Time) time.Duration { return repeatWait(a.times) - now.Sub(a.last) }

// another counts one more attempt.
func (a attempts) another(now time.Time) attempts { return attempts{a.times + 1, now} }

// repeatWait returns how long to wait before the next attempt. times counts those made.
func repeatWait(times int) time.Duration {
	if times == 0 {
		return 0
	}
	wait := firstRepeat
	for range times - 1 {
		wait = min(2*wait, lastRepeat)
	}
	return wait
}

// cronJobMemory is what the bridge remembers of a CronJob. Losing it costs repeated messages only.
type cronJobMemory struct {
	uid string
	// generation is the last one sent, or that status was last seen to call taken, which
	// then has no sent.
	generation int64
	sent       attempts
	// overdue is the next schedule time last poked for.
	overdue time.Time
	pokes   attempts
	// closings are the runs that ended and that status still lists as active.
	closings []closing
	// mentioned are the Jobs at which the workflow was asked to look.
	mentioned map[subject]mention
}

// cronJobAction says what to send for a CronJob.
type cronJobAction string

const (
	// leaveCronJob: nothing.
	leaveCronJob cronJobAction = "leave"
	// sendCronJob: the spec, by signal with start.
	sendCronJob cronJobAction = "send"
	// pokeCronJob: the spec with Overdue set, by signal with start.
	pokeCronJob cronJobAction = "poke"
	// ensureCronJob: a start that does nothing when the workflow runs.
	ensureCronJob cronJobAction = "ensure"
)

// cronJobDecision is what to do for a CronJob now, and when to look again at the
// latest; 0 means at the next change.
type cronJobDecision struct {
	action cronJobAction
	again  time.Duration
	// stale asks to end a workflow that began before this time, since the built-in controller
	// has gone on with the CronJob of batch/v1; zero asks for nothing.
	stale time.Time
}

// decideCronJob decides what to send for a CronJob that exists. Its status says what the
// workflow has taken. With sweep, a CronJob that needs nothing is ensured, since its workflow
// may have been lost with Temporal's data or terminated by hand.
func decideCronJob(cronJob *ostinatov1.CronJob, reference ostinatov1.WorkflowReference, memory cronJobMemory, sweep bool, overdueGrace time.Duration, now time.Time) cronJobDecision {
	memory = memory.of(cronJob)
	decision := decideCronJobMessage(cronJob, reference, memory, sweep, overdueGrace, now)
	// What was sent or seen taken since leader start is known to come after.
	if before, last := builtInWroteLast(cronJob); last && memory.generation == 0 {
		decision.stale = before
		if decision.action == leaveCronJob {
			decision.action = ensureCronJob
		}
	}
	return decision
}

func decideCronJobMessage(cronJob *ostinatov1.CronJob, reference ostinatov1.WorkflowReference, memory cronJobMemory, sweep bool, overdueGrace time.Duration, now time.Time) cronJobDecision {
	if !acknowledgedCronJob(cronJob, reference) || memory.restored(cronJob) {
		return repeated(sendCronJob, memory.sentFor(cronJob), now)
	}
	if overdueCronJob(cronJob, overdueGrace, now) {
		return repeated(pokeCronJob, memory.pokesFor(cronJob), now)
	}
	if sweep {
		return cronJobDecision{action: ensureCronJob}
	}
	return cronJobDecision{action: leaveCronJob}
}

// repeated is the decision for a message that was sent before, or nothing while the next waits.
func repeated(action cronJobAction, before attempts, now time.Time) cronJobDecision {
	if wait := before.wait(now); wait > 0 {
		return cronJobDecision{action: leaveCronJob, again: wait}
	}
	return cronJobDecision{action: action, again: repeatWait(before.times + 1)}
}

// acknowledgedCronJob reports whether the workflow of this object, in this
// Temporal namespace, has taken the object's generation.
func acknowledgedCronJob(cronJob *ostinatov1.CronJob, reference ostinatov1.WorkflowReference) bool {
	return cronJob.Status.Workflow != nil && *cronJob.Status.Workflow == reference &&
		cronJob.Status.ObservedGeneration == cronJob.Generation
}

// overdueCronJob reports whether the time of the next run has passed, by more
// than the grace, without a run. A timer may be lost (temporalio/temporal#11869).
func overdueCronJob(cronJob *ostinatov1.CronJob, grace time.Duration, now time.Time) bool {
	suspended := cronJob.Spec.Suspend != nil && *cronJob.Spec.Suspend
	next := cronJob.Status.NextScheduleTime
	return !suspended && cronJob.DeletionTimestamp == nil && next != nil && now.Sub(next.Time) > grace
}

// of is what is remembered of this very object.
func (m cronJobMemory) of(cronJob *ostinatov1.CronJob) cronJobMemory {
	if m.uid != string(cronJob.UID) {
		return cronJobMemory{uid: string(cronJob.UID)}
	}
	return m
}

// restored reports whether the generation is an earlier one than the workflow has taken: the
// API server's data was restored, and with it the status that calls this generation taken.
func (m cronJobMemory) restored(cronJob *ostinatov1.CronJob) bool {
	return cronJob.Generation < m.generation
}

// taken remembers a generation that status calls taken, and that was not sent.
func (m *cronJobMemory) taken(cronJob *ostinatov1.CronJob) {
	if m.generation != cronJob.Generation {
		m.generation, m.sent = cronJob.Generation, attempts{}
	}
}

// sentFor is how often the object's generation was sent.
func (m cronJobMemory) sentFor(cronJob *ostinatov1.CronJob) attempts {
	if m.generation != cronJob.Generation {
		return attempts{}
	}
	return m.sent
}

// pokesFor is how often the workflow was poked for the run that is due.
func (m cronJobMemory) pokesFor(cronJob *ostinatov1.CronJob) attempts {
	if !m.overdue.Equal(cronJob.Status.NextScheduleTime.Time) {
		return attempts{}
	}
	return m.pokes
}
