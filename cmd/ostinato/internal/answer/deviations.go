package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

// Deviation is a way in which a CronJob is not as it should be.
type Deviation struct {
	Namespace string `json:"namespace"`
	CronJob   string `json:"cronJob"`
	// Kind is one word, such as Failing; Why says more.
	Kind string `json:"is"`
	Why  string `json:"why"`
}

// Wrong reports whether something has gone wrong. A suspension is not wrong, nor are runs that wait.
func (d Deviation) Wrong() bool { return d.Kind != kindSuspended && d.Kind != kindWaiting }

// Kinds of deviations, the most urgent first.
const (
	kindOverdue   = "Overdue"
	kindStalled   = "Stalled"
	kindDoubled   = "Doubled"
	kindUnheard   = "Unheard"
	kindPaused    = "Paused"
	kindStuck     = "Stuck"
	kindBlocked   = "Blocked"
	kindLong      = "Long"
	kindFailing   = "Failing"
	kindRefused   = "Refused"
	kindWaiting   = "Waiting"
	kindSuspended = "Suspended"
)

var kinds = []string{kindOverdue, kindStalled, kindDoubled, kindUnheard, kindPaused, kindStuck, kindBlocked, kindLong, kindFailing, kindRefused, kindWaiting, kindSuspended}

// overdueAfter is how late a run is before it is a deviation: by then the bridge has reminded the workflow twice.
const overdueAfter = time.Minute

// unheardAfter is how long an edit may be without an answer.
const unheardAfter = 30 * time.Second

// Deviations are those of a CronJob, the most urgent first.
func Deviations(clock Clock, cronJob *ostinatov1.CronJob) []Deviation {
	status := cronJob.Status
	var found []Deviation
	add := func(kind, why string) { found = append(found, Deviation{cronJob.Namespace, cronJob.Name, kind, why}) }
	suspended := ptr.Deref(cronJob.Spec.Suspend, false)
	paused := conditionIs(cronJob, ostinatov1.ConditionWorkflowPaused)
	if due := timeOf(status.NextScheduleTime); !due.IsZero() && !suspended && paused == nil && clock.Now.Sub(due) > overdueAfter {
		add(kindOverdue, fmt.Sprintf("the run of %s has no outcome: are the workers and Temporal running?", clock.Short(due)))
	}
	if condition := conditionIs(cronJob, ostinatov1.ConditionStalled); condition != nil {
		add(kindStalled, condition.Reason+": "+condition.Message)
	}
	if condition := conditionIs(cronJob, ostinatov1.ConditionNativeCronJobActive); condition != nil {
		add(kindDoubled, condition.Message)
	}
	if status.ObservedGeneration != cronJob.Generation && clock.Now.Sub(changed(cronJob)) > unheardAfter {
		add(kindUnheard, fmt.Sprintf("generation %d is observed, and there is %d: is the bridge running?", status.ObservedGeneration, cronJob.Generation))
	}
	if paused != nil {
		add(kindPaused, paused.Message)
	}
	if run, ok := stuck(cronJob); ok {
		add(kindStuck, stuckFor(clock, run))
	}
	blocks := blocked(clock, cronJob)
	if blocks != "" {
		add(kindBlocked, blocks)
	}
	for _, run := range long(clock, cronJob) {
		add(kindLong, fmt.Sprintf("%s, where %s is expected", run.text(clock), Span(expected(cronJob))))
	}
	if status.ConsecutiveFailures > 0 {
		why := fmt.Sprintf("%d runs in a row have failed", status.ConsecutiveFailures)
		if status.ConsecutiveFailures == 1 {
			why = "the last run that ended has failed"
		}
		if at := timeOf(status.LastFailureTime); !at.IsZero() {
			why += ", the last " + clock.Ago(at)
		}
		add(kindFailing, why)
	}
	if rows := status.RecentRuns; len(rows) > 0 && ledger.Outcome(rows[0].Outcome) == ledger.FailedToCreate {
		why := cmp.Or(rows[0].Message, rows[0].Reason)
		add(kindRefused, fmt.Sprintf("the API server refused the run of %s: %s", clock.Short(rows[0].ScheduledTime.Time), why))
	}
	if status.Queued > 0 && blocks == "" {
		why := waiting(cronJob)
		if run := Blocker(clock, cronJob); run != "" {
			why = run + "; " + why
		}
		add(kindWaiting, why)
	}
	if suspended {
		why := "spec.suspend is set"
		if condition := conditionIs(cronJob, ostinatov1.ConditionSuspended); condition != nil && condition.Message != "" {
			why = condition.Message
		}
		add(kindSuspended, why)
	}
	return found
}

// conditionIs returns a condition that is True; nil where it is not.
func conditionIs(cronJob *ostinatov1.CronJob, kind string) *metav1.Condition {
	if condition := meta.FindStatusCondition(cronJob.Status.Conditions, kind); condition != nil && condition.Status == metav1.ConditionTrue {
		return condition
	}
	return nil
}

// changed is when the CronJob's spec was last written, as far as its managed fields tell; else its creation.
func changed(cronJob *ostinatov1.CronJob) time.Time {
	last := cronJob.CreationTimestamp.Time
	for _, entry := range cronJob.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// Status is the table of status, the most urgent first, and a line that sums up.
func Status(clock Clock, cronJobs []ostinatov1.CronJob, namespaces bool) (table Table, deviations []Deviation, summary string) {
	counts := map[string]int{}
	well := 0
	for n := range cronJobs {
		found := Deviations(clock, &cronJobs[n])
		if len(found) == 0 {
			well++
		}
		for _, deviation := range found {
			counts[deviation.Kind]++
		}
		deviations = append(deviations, found...)
	}
	slices.SortStableFunc(deviations, func(a, b Deviation) int {
		return cmp.Or(slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.CronJob, b.CronJob))
	})
	table = Table{Head: []string{"CRONJOB", "IS", "WHY"}}
	for _, deviation := range deviations {
		table.Rows = append(table.Rows, []string{deviation.CronJob, deviation.Kind, deviation.Why})
	}
	parts := []string{fmt.Sprintf("%d CronJobs, %d as they should be", len(cronJobs), well)}
	if len(cronJobs) == 1 {
		parts[0] = fmt.Sprintf("1 CronJob, %d as it should be", well)
	}
	for _, kind := range kinds {
		if counts[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[kind], strings.ToLower(kind)))
		}
	}
	return table.in(namespaces, len(deviations), func(n int) string { return deviations[n].Namespace }), deviations, strings.Join(parts, ", ")
}

// waiting says how many runs wait, and how to look at them and take them back.
func waiting(cronJob *ostinatov1.CronJob) string {
	text := fmt.Sprintf("%d runs wait for others to end", cronJob.Status.Queued)
	if cronJob.Status.Queued == 1 {
		text = "1 run waits for others to end"
	}
	return text + ": ostinato runs " + cronJob.Name
}
