package activities

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/protocol"
)

// Values of metric labels, upstream's.
const (
	resultSucceeded = "succeeded"
	resultFailed    = "failed"

	actionTracking    = "tracking"
	actionPodsCreated = "pods_created"
	actionPodsDeleted = "pods_deleted"

	createNew                 = "new"
	recreateTerminatingFailed = "recreate_terminating_or_failed"
	recreateFailed            = "recreate_failed"
)

// Metrics are the Prometheus metrics of activities. Names, labels and buckets
// are upstream's where the meaning is the same (parity 1.10 and 2.16).
type Metrics struct {
	creationSkew       prometheus.Histogram
	syncDuration       *prometheus.HistogramVec
	syncs              *prometheus.CounterVec
	jobsFinished       *prometheus.CounterVec
	podsFinished       *prometheus.CounterVec
	podsCreated        *prometheus.CounterVec
	terminatedTracked  *prometheus.CounterVec
	refusals           *prometheus.CounterVec
	watchSignals       *prometheus.CounterVec
	watchFacts         prometheus.Counter
	watchProjections   prometheus.Counter
	watchOrphans       prometheus.Counter
	watchedJobs        prometheus.Gauge
	watchSignalSeconds prometheus.Histogram
}

// NewMetrics returns metrics registered with the registerer; it panics when they
// are registered already.
func NewMetrics(registerer prometheus.Registerer) *Metrics {
	const jobs, cronJobs, ostinato = "job_controller", "cronjob_controller", "ostinato"
	counter := func(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help}, labels)
	}
	single := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Subsystem: ostinato, Name: name, Help: help})
	}
	m := &Metrics{
		creationSkew: prometheus.NewHistogram(prometheus.HistogramOpts{
			Subsystem: cronJobs, Name: "job_creation_skew_duration_seconds",
			Help:    "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		syncDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: jobs, Name: "job_sync_duration_seconds", Help: "The time it took to sync a job",
			Buckets: prometheus.ExponentialBuckets(0.004, 2, 15),
		}, []string{"completion_mode", "result", "action"}),
		syncs:             counter(jobs, "job_syncs_total", "The number of job syncs", "completion_mode", "result", "action"),
		jobsFinished:      counter(jobs, "jobs_finished_total", "The number of finished jobs", "completion_mode", "result", "reason"),
		podsFinished:      counter(jobs, "job_pods_finished_total", "The number of finished Pods that are fully tracked", "completion_mode", "result"),
		podsCreated:       counter(jobs, "job_pods_creation_total", "The number of Pods created by the Job controller by reason and status of the creation", "reason", "status"),
		terminatedTracked: counter(jobs, "terminated_pods_tracking_finalizer_total", "The number of terminated pods (phase=Failed|Succeeded) that have the finalizer batch.kubernetes.io/job-tracking", "event"),
		refusals:          counter(ostinato, "kubernetes_refusals_total", "The number of creates and status writes the API server refused, by kind and reason", "kind", "reason"),
		watchSignals:      counter(ostinato, "podwatch_signals_total", "The number of signals with Pod facts by result: sent, not_found, error", "result"),
		watchFacts:        single("podwatch_facts_total", "The number of Pod facts sent"),
		watchProjections:  single("podwatch_ready_projections_total", "The number of writes of status.ready alone"),
		watchOrphans:      single("podwatch_orphans_released_total", "The number of Pods without a workflow that were released"),
		watchedJobs: prometheus.NewGauge(prometheus.GaugeOpts{
			Subsystem: ostinato, Name: "podwatch_jobs", Help: "The number of Jobs that have Pods in the watch",
		}),
		watchSignalSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Subsystem: ostinato, Name: "podwatch_signal_duration_seconds", Help: "The time Temporal took to take a signal",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	registerer.MustRegister(m.creationSkew, m.syncDuration, m.syncs, m.jobsFinished, m.podsFinished, m.podsCreated,
		m.terminatedTracked, m.refusals, m.watchSignals, m.watchFacts, m.watchProjections, m.watchOrphans, m.watchedJobs, m.watchSignalSeconds)
	return m
}

func completionMode(job *batchv1.Job) string {
	if job.Spec.CompletionMode != nil {
		return string(*job.Spec.CompletionMode)
	}
	return string(batchv1.NonIndexedCompletion)
}

// observeSync counts one ReconcileJob on a Job that was found.
func (m *Metrics) observeSync(job *batchv1.Job, request protocol.JobRequest, started, ended time.Time, err error) {
	result, action := "success", actionTracking
	if err != nil {
		result = "error"
	}
	switch {
	case len(request.Creates) > 0:
		action = actionPodsCreated
	case len(request.Deletes) > 0:
		action = actionPodsDeleted
	}
	m.syncs.WithLabelValues(completionMode(job), result, action).Inc()
	m.syncDuration.WithLabelValues(completionMode(job), result, action).Observe(ended.Sub(started).Seconds())
}

// countStatus counts what a status write added to the Job: a repeated write adds
// nothing.
func (m *Metrics) countStatus(before, after *batchv1.Job) {
	mode := completionMode(after)
	m.podsFinished.WithLabelValues(mode, resultSucceeded).Add(float64(max(0, after.Status.Succeeded-before.Status.Succeeded)))
	m.podsFinished.WithLabelValues(mode, resultFailed).Add(float64(max(0, after.Status.Failed-before.Status.Failed)))
	if was := terminalCondition(before); was != nil {
		return
	}
	if condition := terminalCondition(after); condition != nil {
		result := resultSucceeded
		if condition.Type == batchv1.JobFailed {
			result = resultFailed
		}
		m.jobsFinished.WithLabelValues(mode, result, condition.Reason).Inc()
	}
}

// terminalCondition returns the condition with which the Job ended; nil while it
// has not.
func terminalCondition(job *batchv1.Job) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		condition := &job.Status.Conditions[i]
		if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			return condition
		}
	}
	return nil
}

// countCreate counts a Pod that was created or refused.
func (m *Metrics) countCreate(owner *batchv1.Job, status string) {
	reason := createNew
	switch policy := owner.Spec.PodReplacementPolicy; {
	case policy != nil && *policy == batchv1.Failed && owner.Status.Failed > 0:
		reason = recreateFailed
	case owner.Status.Failed > 0, owner.Status.Terminating != nil && *owner.Status.Terminating > 0:
		reason = recreateTerminatingFailed
	}
	m.podsCreated.WithLabelValues(reason, status).Inc()
}

func (m *Metrics) countRefusal(kind string, refused *protocol.Refusal) {
	m.refusals.WithLabelValues(kind, refused.Reason).Inc()
}
