package activities

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/podwatch"
	"ostinato.dev/ostinato/internal/protocol"
)

// Values of metric labels, upstream's.
const resultSucceeded, resultFailed = "succeeded", "failed"

// Metrics are the Prometheus metrics of activities. Names, labels and buckets
// are upstream's where the meaning is the same (parity 1.10 and 2.16).
type Metrics struct {
	creationSkew    prometheus.Histogram
	syncDuration    *prometheus.HistogramVec
	syncs           *prometheus.CounterVec
	jobsFinished    *prometheus.CounterVec
	podsFinished    *prometheus.CounterVec
	podsCreated     *prometheus.CounterVec
	indexesFinished *prometheus.CounterVec
	failuresHandled *prometheus.CounterVec
	refusals        *prometheus.CounterVec
	requestsRefused *prometheus.CounterVec
	startsGivenBack *prometheus.CounterVec
	watch           *podwatch.Metrics
}

// NewMetrics returns metrics registered with the registerer; it panics when they are registered already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	factory := promauto.With(registerer)
	const jobs, cronJobs, ostinato = "job_controller", "cronjob_controller", "ostinato"
	counter := func(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	m := &Metrics{
		creationSkew: factory.NewHistogram(prometheus.HistogramOpts{
			Subsystem: cronJobs, Name: "job_creation_skew_duration_seconds",
			Help:    "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		syncDuration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: jobs, Name: "job_sync_duration_seconds", Help: "The time it took to sync a job",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 15),
		}, []string{"completion_mode", "result", "action"}),
		syncs:           counter(jobs, "job_syncs_total", "The number of job syncs", "completion_mode", "result", "action"),
		jobsFinished:    counter(jobs, "jobs_finished_total", "The number of finished jobs", "completion_mode", "result", "reason"),
		podsFinished:    counter(jobs, "job_pods_finished_total", "The number of finished Pods that are fully tracked", "completion_mode", "result"),
		podsCreated:     counter(jobs, "job_pods_creation_total", "The number of Pods created by the Job controller by reason and status of the creation", "reason", "status"),
		indexesFinished: counter(jobs, "job_finished_indexes_total", "The number of finished indexes by status (succeeded, failed) and the kind of their back-off limit (perIndex, global)", "status", "backoffLimit"),
		failuresHandled: counter(jobs, "pod_failures_handled_by_failure_policy_total", "The number of failed Pods handled by failure policy with respect to the failure policy action applied based on the matched rule", "action"),
		refusals:        counter(ostinato, "kubernetes_refusals_total", "The number of creates and status writes the API server refused, by kind and reason", "kind", "reason"),
		requestsRefused: counter(ostinato, "requests_refused_total", "The number of requests that activities refused since no workflow of Ostinato's makes them, by activity and reason", "activity", "reason"),
		startsGivenBack: counter(ostinato, "starts_given_back_total", "The number of starts that came too early to wait here, by reason: the clock of this worker is behind (clock), or too many wait (room)", "reason"),
		watch:           podwatch.NewMetrics(registerer),
	}
	// An alert sees no increase in a series that begins with it.
	for _, reason := range []string{givenBackForClock, givenBackForRoom} {
		m.startsGivenBack.WithLabelValues(reason)
	}
	for _, name := range protocol.Activities {
		for _, reason := range refusedReasons {
			m.requestsRefused.WithLabelValues(name, reason)
		}
	}
	return m
}

func completionMode(owner *batchv1.Job) string {
	return string(ptr.Deref(owner.Spec.CompletionMode, batchv1.NonIndexedCompletion))
}

// observeSync counts one CarryOut on a Job that was found.
func (m *Metrics) observeSync(owner *batchv1.Job, request protocol.JobRequest, started, ended time.Time, err error) {
	result, action := "success", "tracking"
	if err != nil {
		result = "error"
	}
	switch {
	case len(request.Creates) > 0:
		action = "pods_created"
	case len(request.Deletes) > 0:
		action = "pods_deleted"
	}
	m.syncs.WithLabelValues(completionMode(owner), result, action).Inc()
	m.syncDuration.WithLabelValues(completionMode(owner), result, action).Observe(ended.Sub(started).Seconds())
}

// countStatus counts what a status write added to the Job, and the Pods whose
// failure was handled by a rule. Don't call it for a repeated write, which changes nothing.
func (m *Metrics) countStatus(before, after *batchv1.Job, handled map[batchv1.PodFailurePolicyAction]int32) {
	mode := completionMode(after)
	succeeded := after.Status.Succeeded - before.Status.Succeeded
	if mode == string(batchv1.IndexedCompletion) {
		succeeded = m.countIndexes(before, after)
	}
	m.podsFinished.WithLabelValues(mode, resultSucceeded).Add(float64(max(0, succeeded)))
	m.podsFinished.WithLabelValues(mode, resultFailed).Add(float64(max(0, after.Status.Failed-before.Status.Failed)))
	m.countHandled(handled)
	if condition := claim.Finished(after); condition != nil && claim.Finished(before) == nil {
		result := resultSucceeded
		if condition.Type == batchv1.JobFailed {
			result = resultFailed
		}
		m.jobsFinished.WithLabelValues(mode, result, condition.Reason).Inc()
	}
}

// countHandled counts the Pods whose failure was handled by a rule.
func (m *Metrics) countHandled(handled map[batchv1.PodFailurePolicyAction]int32) {
	for action, count := range handled {
		m.failuresHandled.WithLabelValues(string(action)).Add(float64(count))
	}
}

// countIndexes counts the indexes that are over; it returns how many succeeded. Both statuses are read up to the
// completions that the Job has now, so that indexes lost by scaling it down don't count against new ones (parity 2.16).
func (m *Metrics) countIndexes(before, after *batchv1.Job) (succeeded int32) {
	completions := ptr.Deref(after.Spec.Completions, 0)
	added := func(after, before string) int32 {
		return max(0, job.ParseIndexes(after).Below(completions).Len()-job.ParseIndexes(before).Below(completions).Len())
	}
	limit := "global"
	if after.Spec.BackoffLimitPerIndex != nil {
		limit = "perIndex"
		failed := added(ptr.Deref(after.Status.FailedIndexes, ""), ptr.Deref(before.Status.FailedIndexes, ""))
		m.indexesFinished.WithLabelValues(resultFailed, limit).Add(float64(failed))
	}
	succeeded = added(after.Status.CompletedIndexes, before.Status.CompletedIndexes)
	m.indexesFinished.WithLabelValues(resultSucceeded, limit).Add(float64(succeeded))
	return succeeded
}

// invalidHandled says what no plan counts of Pods that rules have handled.
func invalidHandled(handled map[batchv1.PodFailurePolicyAction]int32) error {
	for action, count := range handled {
		switch action {
		case batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex, batchv1.PodFailurePolicyActionIgnore,
			batchv1.PodFailurePolicyActionCount:
		default:
			return fmt.Errorf("handled: %.64q is no action of a Pod failure policy", string(action))
		}
		if count < 0 {
			return fmt.Errorf("handled: %d Pods by %s, want 0 or more", count, action)
		}
	}
	return nil
}

// countCreate counts a Pod that was created or refused. Failures may be in the status that is planned
// with the Pod, or in the Pod's own failure counts, before they are in the Job's status.
func (m *Metrics) countCreate(owner *batchv1.Job, planned *batchv1.JobStatus, create job.Create, status string) {
	failed, terminating := owner.Status.Failed, ptr.Deref(owner.Status.Terminating, 0)
	if planned != nil {
		failed, terminating = max(failed, planned.Failed), max(terminating, ptr.Deref(planned.Terminating, 0))
	}
	again := failed > 0 || create.Failures > 0 || create.Ignored > 0
	reason := "new"
	switch {
	case again && ptr.Deref(owner.Spec.PodReplacementPolicy, "") == batchv1.Failed:
		reason = "recreate_failed"
	case again, terminating > 0:
		reason = "recreate_terminating_or_failed"
	}
	m.podsCreated.WithLabelValues(reason, status).Inc()
}

func (m *Metrics) countRefusal(kind string, refused *protocol.Refusal) {
	m.refusals.WithLabelValues(kind, refused.Reason).Inc()
}
