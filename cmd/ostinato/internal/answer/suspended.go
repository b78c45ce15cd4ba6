package answer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
)

// NotTakenBack says why a resume leaves a CronJob suspended; empty where it does not. A CronJob that was named is
// resumed no matter who has suspended it, unless a reason is given. Of many, it takes back only the person's own
// suspensions.
func NotTakenBack(cronJob *ostinatov1.CronJob, by, why string, named bool) string {
	if named && why == "" {
		return ""
	}
	refused, _, _ := strings.Cut(k8s.SuspenderOf(cronJob, false).Refuses(by, why), ": send ")
	return refused
}

// WasSuspended reports whether a CronJob has been suspended at some time, as far as its conditions tell: the first status has all of
// them at once.
func WasSuspended(cronJob *ostinatov1.CronJob) bool {
	suspended := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionSuspended)
	valid := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionScheduleValid)
	return suspended != nil && (suspended.Status == metav1.ConditionTrue || valid == nil || !suspended.LastTransitionTime.Equal(&valid.LastTransitionTime))
}

// Suspended says who has begun a suspension and who has ended it.
func Suspended(clock Clock, suspension ledger.Suspension) string {
	text := "suspended " + cmp.Or(suspension.Suspended, "at "+clock.Time(suspension.From))
	if !suspension.To.IsZero() {
		text += "; resumed " + cmp.Or(suspension.Resumed, "at "+clock.Time(suspension.To))
	}
	return text
}

// WithSuspensions returns the table of Runs with the suspensions among its rows. Those before the oldest row are left out unless
// whole says that there are no more rows.
func (t Table) WithSuspensions(clock Clock, rows []ostinatov1.RecentRun, suspensions []ledger.Suspension, whole bool) Table {
	for _, suspension := range suspensions {
		at := slices.IndexFunc(rows, func(row ostinatov1.RecentRun) bool { return row.ScheduledTime.Time.Before(suspension.From) })
		if at < 0 && !whole {
			continue
		}
		if at < 0 {
			at = len(rows)
		}
		// The table has the earlier suspensions already, each of them further down.
		when, took := clock.Short(suspension.From), suspension.To
		if took.IsZero() {
			took = clock.Now
		} else {
			when += " to " + clock.Short(suspension.To)
		}
		t.Rows = slices.Insert(t.Rows, at, []string{
			signSuspended, when, ostinatov1.ConditionSuspended, "", Span(took.Sub(suspension.From)), "", Suspended(clock, suspension),
		})
	}
	return t
}

// during says who has suspended a CronJob whose suspension covers a time; empty where none is known.
func (l Ledger) during(clock Clock, at time.Time) string {
	for _, suspension := range slices.Backward(l.Suspensions) {
		if suspension.Covers(at) {
			text := Suspended(clock, suspension)
			return strings.ToUpper(text[:1]) + text[1:] + "."
		}
	}
	return ""
}
