package protocol

import (
	"time"

	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// BackfillSignal and BackfillUpdate carry a BackfillRequest of a person to a CronJob
// workflow. Events on the object answer the signal, a BackfillAnswer the update.
const (
	BackfillSignal = steering.Backfill
	BackfillUpdate = steering.Backfill
)

// BackfillRequest asks to run the template for past times of the schedule. What it
// misspells would be left out unseen, so its JSON is read strictly.
type BackfillRequest schedule.BackfillRequest

// plainBackfillRequest is BackfillRequest without its methods.
type plainBackfillRequest BackfillRequest

// UnmarshalJSON implements json.Unmarshaler.
func (r *BackfillRequest) UnmarshalJSON(data []byte) error {
	var plain plainBackfillRequest
	if err := decodeArgument(data, "backfill", `{"from": "2026-01-02T00:00:00Z", "to": "2026-01-02T23:59:59Z"}`, &plain); err != nil {
		return err
	}
	*r = BackfillRequest(plain)
	return nil
}

// BackfillAnswer says what becomes of a BackfillRequest.
type BackfillAnswer struct {
	// Accepted: the runs will start, by and by; the ledger has each. Not with DryRun.
	Accepted bool `json:"accepted"`
	DryRun   bool `json:"dryRun,omitempty"`
	// Runs is how many times there are, from First to Last; Times are the first of them.
	Runs  int         `json:"runs"`
	First time.Time   `json:"first,omitzero"`
	Last  time.Time   `json:"last,omitzero"`
	Times []time.Time `json:"times,omitempty"`
	// Cancelled is how many times will not start any more.
	Cancelled int `json:"cancelled,omitempty"`
}

// backfillAnswerTimes bounds BackfillAnswer.Times.
const backfillAnswerTimes = 100

// BackfillAnswerOf returns the answer to a request for these times.
func BackfillAnswerOf(times []time.Time, dryRun bool) BackfillAnswer {
	answer := BackfillAnswer{Accepted: !dryRun, DryRun: dryRun, Runs: len(times), Times: times[:min(len(times), backfillAnswerTimes)]}
	if len(times) > 0 {
		answer.First, answer.Last = times[0], times[len(times)-1]
	}
	return answer
}

// Backfill is how far a backfill has come.
type Backfill struct {
	// Times are those that have not started yet, of Total.
	Times int `json:"times"`
	Total int `json:"total"`
	// Next and Last are the first and the last of them.
	Next        time.Time `json:"next"`
	Last        time.Time `json:"last"`
	Parallelism int       `json:"parallelism"`
	Overlap     string    `json:"overlap,omitempty"`
	Note        string    `json:"note,omitempty"`
	By          string    `json:"by,omitempty"`
	// Refused is the API server's last answer to the next time's Job.
	Refused string `json:"refused,omitempty"`
}

// BackfillOf describes a backfill of the state.
func BackfillOf(backfill schedule.Backfill) Backfill {
	return Backfill{
		Times: len(backfill.Times), Total: backfill.Total, Next: backfill.Times[0], Last: backfill.Times[len(backfill.Times)-1],
		Parallelism: backfill.Parallelism, Overlap: string(backfill.Overlap), Note: backfill.Note, By: backfill.By, Refused: backfill.Message,
	}
}
