package protocol

import (
	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

// CronJobDescription answers DescribeQuery on a CronJob workflow.
type CronJobDescription struct {
	CronJob ObjectReference          `json:"cronJob"`
	Spec    schedule.Spec            `json:"spec"`
	Status  ostinatov1.CronJobStatus `json:"status"`
	// Ledger is the recorded outcome of recent scheduled times, oldest first.
	Ledger []schedule.LedgerEntry `json:"ledger,omitempty"`
}

// JobDescription answers DescribeQuery on a Job workflow.
type JobDescription struct {
	Job    ObjectReference   `json:"job"`
	Spec   job.Spec          `json:"spec"`
	Status batchv1.JobStatus `json:"status"`
	// Pods are the Pods known and not yet released, the first of them;
	// PodsOmitted counts the rest.
	Pods        []job.Pod `json:"pods,omitempty"`
	PodsOmitted int       `json:"podsOmitted,omitempty"`
	// Attempts are the Pods that failed last, oldest first; AttemptsOmitted counts
	// older ones that are not kept.
	Attempts        []job.Attempt `json:"attempts,omitempty"`
	AttemptsOmitted int           `json:"attemptsOmitted,omitempty"`
	// Waiting says in words what the Job waits for.
	Waiting string `json:"waiting,omitempty"`
}
