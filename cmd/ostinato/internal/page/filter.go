package page

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
)

// Filter chooses CronJobs.
type Filter struct {
	// Namespace is that of the CronJobs, and Text is a part of namespace/name; empty for all.
	Namespace, Text string
	// Selector chooses by labels; nil for all.
	Selector labels.Selector
	// Failing keeps the CronJobs that deviate now, and those with a failed run in the time that is shown.
	Failing bool
}

// Choose returns the indexes of the CronJobs that the filter lets through, in their order.
func (f Filter) Choose(clock answer.Clock, cronJobs []ostinatov1.CronJob, since time.Time) []int {
	var chosen []int
	for n := range cronJobs {
		if f.lets(clock, &cronJobs[n], since) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

func (f Filter) lets(clock answer.Clock, cronJob *ostinatov1.CronJob, since time.Time) bool {
	switch {
	case f.Namespace != "" && cronJob.Namespace != f.Namespace,
		f.Text != "" && !strings.Contains(cronJob.Namespace+"/"+cronJob.Name, strings.ToLower(f.Text)),
		f.Selector != nil && !f.Selector.Matches(labels.Set(cronJob.Labels)):
		return false
	}
	return !f.Failing || failing(clock, cronJob, since)
}

// failing is decided by the status alone: its ten rows, and when a run last failed.
func failing(clock answer.Clock, cronJob *ostinatov1.CronJob, since time.Time) bool {
	if slices.ContainsFunc(answer.Deviations(clock, cronJob), answer.Deviation.Wrong) {
		return true
	}
	if last := cronJob.Status.LastFailureTime; last != nil && !last.Time.Before(since) {
		return true
	}
	return len(answer.Failures(cronJob, cronJob.Status.RecentRuns, since)) > 0
}

// Namespaces are those of CronJobs, in order.
func Namespaces(cronJobs []ostinatov1.CronJob) []string {
	var found []string
	for n := range cronJobs {
		found = append(found, cronJobs[n].Namespace)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
