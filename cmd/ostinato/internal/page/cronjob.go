package page

import (
	"fmt"
	"net/url"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/ledger"
)

func escape(part string) string { return url.PathEscape(part) }

// CronJob is what the name of a row opens.
type CronJob struct {
	Namespace, Name string
	Suspended       bool
	Marks           []Mark
	// Policy are the fields of the spec that decide when and whether it runs.
	Policy []Fact
	// Suspensions are the present suspension, and the earlier ones, or those by which times were skipped where no others could be
	// read, the newest first.
	Suspensions []string
	Plot        Plot
	// Rows are the latest times.
	Rows []Time
	// Unseen says what could not be read.
	Unseen string
	// Link is where Temporal's own UI shows its workflow, empty where that is not known.
	Link string
}

// maxTimes bounds the times that are listed of a CronJob.
const maxTimes = 20

// NewCronJob returns what is known of a CronJob.
func NewCronJob(clock answer.Clock, cronJob *ostinatov1.CronJob, known answer.Ledger) CronJob {
	shown := CronJob{
		Namespace: cronJob.Namespace, Name: cronJob.Name, Suspended: ptr.Deref(cronJob.Spec.Suspend, false),
		Policy: policy(clock, cronJob), Plot: NewPlot(clock, Durations(known.Rows), ""), Unseen: answer.Printable(known.Unseen),
	}
	for _, deviation := range answer.Deviations(clock, cronJob) {
		shown.Marks = append(shown.Marks, Mark{deviation.Kind, answer.Printable(deviation.Why), deviation.Wrong()})
		if shown.Suspended && deviation.Kind == "Suspended" {
			shown.Suspensions = append(shown.Suspensions, "Now: "+answer.Printable(deviation.Why))
		}
	}
	for _, suspension := range slices.Backward(known.Suspensions) {
		if suspension.To.IsZero() {
			continue
		}
		shown.Suspensions = append(shown.Suspensions, clock.Short(suspension.From)+": "+answer.Printable(answer.Suspended(clock, suspension)))
	}
	for _, row := range answer.Told(clock, cronJob, known.Rows) {
		if ledger.Outcome(row.Outcome) == ledger.SkippedSuspended && len(known.Suspensions) == 0 {
			shown.Suspensions = append(shown.Suspensions, labelOf(clock, row))
		}
		if len(shown.Rows) < maxTimes {
			shown.Rows = append(shown.Rows, Time{row.ScheduledTime.Time, KindOf(row), labelOf(clock, row)})
		}
	}
	return shown
}

// policy lists what is set, with the defaults of what always counts.
func policy(clock answer.Clock, cronJob *ostinatov1.CronJob) []Fact {
	spec := cronJob.Spec
	facts := []Fact{{"schedule", spec.Schedule}, {"timeZone", ptr.Deref(spec.TimeZone, "that of the worker")}, {"next run", nextOf(clock, cronJob)}}
	add := func(name string, value any, set bool) {
		if set {
			facts = append(facts, Fact{name, fmt.Sprint(value)})
		}
	}
	concurrency := spec.ConcurrencyPolicy
	if concurrency == "" {
		concurrency = batchv1.AllowConcurrent
	}
	add("concurrencyPolicy", concurrency, true)
	add("maxConcurrent", ptr.Deref(spec.MaxConcurrent, 0), spec.MaxConcurrent != nil)
	add("queueLimit", ptr.Deref(spec.QueueLimit, 0), spec.QueueLimit != nil)
	add("startingDeadlineSeconds", ptr.Deref(spec.StartingDeadlineSeconds, 0), spec.StartingDeadlineSeconds != nil)
	add("catchUp", catchUp(cronJob), true)
	add("catchUpWindowSeconds", ptr.Deref(spec.CatchUpWindowSeconds, 0), spec.CatchUpWindowSeconds != nil)
	add("catchUpLimit", ptr.Deref(spec.CatchUpLimit, 0), spec.CatchUpLimit != nil)
	add("pauseAfterFailures", ptr.Deref(spec.PauseAfterFailures, 0), spec.PauseAfterFailures != nil)
	add("stuckAfterSeconds", ptr.Deref(spec.StuckAfterSeconds, 0), spec.StuckAfterSeconds != nil)
	add("pendingDeadlineSeconds", ptr.Deref(spec.PendingDeadlineSeconds, 0), spec.PendingDeadlineSeconds != nil)
	add("expectedDurationSeconds", ptr.Deref(spec.ExpectedDurationSeconds, 0), spec.ExpectedDurationSeconds != nil)
	add("active runs", cronJob.Status.ActiveCount, true)
	add("waiting runs", cronJob.Status.Queued, cronJob.Status.Queued > 0)
	for n := range facts {
		facts[n].Value = answer.Printable(facts[n].Value)
	}
	return facts
}

// catchUp is the policy that counts.
func catchUp(cronJob *ostinatov1.CronJob) ostinatov1.CatchUpPolicy {
	if cronJob.Spec.CatchUp == "" {
		return ostinatov1.CatchUpLatest
	}
	return cronJob.Spec.CatchUp
}
