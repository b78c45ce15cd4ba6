package protocol

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// CronJobDescription answers DescribeQuery on a CronJob workflow.
type CronJobDescription struct {
	CronJob ObjectReference          `json:"cronJob"`
	Spec    schedule.Spec            `json:"spec"`
	Status  ostinatov1.CronJobStatus `json:"status"`
	// Ledger has the outcomes of the last 50 scheduled times or stretches of them, oldest first. LedgerQuery has more.
	Ledger []ledger.Entry `json:"ledger,omitempty"`
	// Triggers are those that wait.
	Triggers []schedule.Trigger `json:"triggers,omitempty"`
	// Backfills are those that have times left to start.
	Backfills []Backfill `json:"backfills,omitempty"`
}

// Described is the object that a description of either kind is of.
type Described struct {
	CronJob ObjectReference `json:"cronJob"`
	Job     ObjectReference `json:"job"`
}

// LedgerQuestion asks for a part of the ledger; without a limit for 50 rows.
type LedgerQuestion ledger.Question

// LedgerPage answers LedgerQuery, LedgerRow is one of its outcomes.
type (
	LedgerPage = ledger.Page
	LedgerRow  = ledger.Row
)

// JobDescription answers DescribeQuery on a Job workflow.
type JobDescription struct {
	Job    ObjectReference   `json:"job"`
	Spec   job.Spec          `json:"spec"`
	Status batchv1.JobStatus `json:"status"`
	// Pods are the Pods known and not yet released, the first of them; PodsOmitted counts the rest.
	Pods        []job.Pod `json:"pods,omitempty"`
	PodsOmitted int       `json:"podsOmitted,omitempty"`
	// Attempts are the Pods that failed last, oldest first; AttemptsOmitted counts older ones that are not kept.
	Attempts        []job.Attempt `json:"attempts,omitempty"`
	AttemptsOmitted int           `json:"attemptsOmitted,omitempty"`
	// Waiting says in words what the Job waits for.
	Waiting string `json:"waiting,omitempty"`
}

// Backfill is how far a backfill has come.
type Backfill struct {
	// Sequence is the backfill's number.
	Sequence int64 `json:"sequence"`
	// Times are those that have not started yet, of Total.
	Times int `json:"times"`
	Total int `json:"total"`
	// Next and Last are the first and the last of them.
	Next        time.Time `json:"next"`
	Last        time.Time `json:"last"`
	Parallelism int       `json:"parallelism"`
	Overlap     string    `json:"overlap,omitempty"`
	Note        string    `json:"note,omitempty"`
	// By is the name of the sender, as claimed, User that which the API server knows.
	By   string `json:"by,omitempty"`
	User string `json:"user,omitempty"`
	// Refused is the API server's last answer to the next time's Job.
	Refused string `json:"refused,omitempty"`
}

// BackfillOf describes a backfill of the state.
func BackfillOf(backfill schedule.Backfill) Backfill {
	return Backfill{
		Sequence: backfill.Sequence, Times: len(backfill.Times), Total: backfill.Total,
		Next: backfill.Times[0], Last: backfill.Times[len(backfill.Times)-1],
		Parallelism: backfill.Parallelism, Overlap: string(backfill.Overlap), Note: backfill.Note, By: backfill.By, User: backfill.User, Refused: backfill.Message,
	}
}
