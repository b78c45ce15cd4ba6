package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// maxBackfillRequest bounds a BackfillRequest's JSON, in bytes.
const maxBackfillRequest = 8 << 10

// BackfillRequest asks to run the template for past times of the schedule. What it
// misspells would be left out unseen, so its JSON is read strictly.
type BackfillRequest schedule.BackfillRequest

// plainBackfillRequest is BackfillRequest without its methods.
type plainBackfillRequest BackfillRequest

// UnmarshalJSON implements json.Unmarshaler. The JSON may be quoted once more as a string.
func (r *BackfillRequest) UnmarshalJSON(data []byte) error {
	if len(data) > maxBackfillRequest {
		return fmt.Errorf("a backfill's argument has %d bytes: use %d at most", len(data), maxBackfillRequest)
	}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var quoted string
	if json.Unmarshal(data, &quoted) == nil {
		data = []byte(quoted)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var plain plainBackfillRequest
	if err := decoder.Decode(&plain); err != nil {
		return fmt.Errorf(`a backfill's argument can't be read, want JSON such as {"from": "2026-01-02T00:00:00Z", "to": "2026-01-02T23:59:59Z"}: %w`, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows a backfill's argument")
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
	// Refused is the API server's last answer to the next time's Job.
	Refused string `json:"refused,omitempty"`
}

// BackfillOf describes a backfill of the state.
func BackfillOf(backfill schedule.Backfill) Backfill {
	return Backfill{
		Times: len(backfill.Times), Total: backfill.Total, Next: backfill.Times[0], Last: backfill.Times[len(backfill.Times)-1],
		Parallelism: backfill.Parallelism, Overlap: string(backfill.Overlap), Note: backfill.Note, Refused: backfill.Message,
	}
}
