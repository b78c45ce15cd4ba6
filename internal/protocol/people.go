package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// Signals and updates that people send, with or without a JSON argument.
const (
	// SuspendSignal and ResumeSignal set spec.suspend of the CronJob or Job; the argument is a SignalNote,
	// with the reason and force of a Wish for a resume. An Event on the object answers them.
	SuspendSignal = steering.Suspend
	ResumeSignal  = steering.Resume
	// TriggerSignal and TriggerUpdate start one run of a CronJob now; the argument is a TriggerRequest. The
	// ledger answers the signal, a TriggerAnswer the update.
	TriggerSignal = steering.Trigger
	TriggerUpdate = steering.Trigger
	// BackfillSignal and BackfillUpdate carry a BackfillRequest to a CronJob workflow. Events on the object
	// answer the signal, a BackfillAnswer the update.
	BackfillSignal = steering.Backfill
	BackfillUpdate = steering.Backfill
)

// SignalNote is the optional argument of the signals people send. A plain JSON
// string is taken as the note.
type SignalNote struct {
	Note string `json:"note,omitempty"`
	// By says who sends it; Temporal does not tell a workflow.
	By string `json:"by,omitempty"`
}

const (
	// MaxWishes bounds the wishes that wait. Each becomes a write of the object, and the bridge signals
	// each write. Temporal repeats a workflow task during which more than 100 events come, so a write
	// for each of 200 signals would repeat the task, with all its writes, for ever.
	MaxWishes = 10
	// maxWishText bounds each text of a wish, in bytes; a workflow cuts those of signals to half of it.
	maxWishText = 1024
)

// Wish is a person's wish to suspend or resume, as a signal says it.
type Wish struct {
	Suspend bool       `json:"suspend"`
	Note    SignalNote `json:"note,omitzero"`
	// Reason of a resume: one that names By or Reason takes back the suspension that has both as its
	// name and note, and no other. Force resumes whoever has suspended; By says then who does.
	Reason string `json:"reason,omitempty"`
	Force  bool   `json:"force,omitempty"`
	// Unread says why nothing is made of the signal's argument.
	Unread string `json:"unread,omitempty"`
	// Superseded is how many signals came before this one and are not written by themselves.
	Superseded int       `json:"superseded,omitempty"`
	At         time.Time `json:"at"`
}

func validateWishes(wishes []Wish) error {
	if len(wishes) > MaxWishes {
		return fmt.Errorf("wishes: %d, want %d at most", len(wishes), MaxWishes)
	}
	for _, wish := range wishes {
		for _, text := range []string{wish.Note.Note, wish.Note.By, wish.Reason, wish.Unread} {
			if len(text) > maxWishText {
				return fmt.Errorf("wishes: a text of %d bytes, want %d at most", len(text), maxWishText)
			}
		}
	}
	return nil
}

// TriggerRequest asks to start a run now. An update's is read strictly.
type TriggerRequest struct {
	SignalNote
	// Overlap is Allow, Forbid, Replace or Queue, in place of the CronJob's concurrencyPolicy;
	// empty for that.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *TriggerRequest) UnmarshalJSON(data []byte) error {
	type plain TriggerRequest
	return decodeArgument(data, "trigger", `{"overlap": "Queue", "note": "once more", "by": "ada"}`, (*plain)(r))
}

// TriggerAnswer answers the update TriggerUpdate.
type TriggerAnswer = schedule.TriggerAnswer

// BackfillRequest asks to run the template for past times of the schedule.
type BackfillRequest schedule.BackfillRequest

// UnmarshalJSON implements json.Unmarshaler.
func (r *BackfillRequest) UnmarshalJSON(data []byte) error {
	return decodeArgument(data, "backfill", `{"from": "2026-01-02T00:00:00Z", "to": "2026-01-02T23:59:59Z"}`, (*schedule.BackfillRequest)(r))
}

// BackfillAnswer says what becomes of a BackfillRequest.
type BackfillAnswer struct {
	// Accepted: the runs will start over time; the ledger lists each. Not with DryRun.
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

// maxArgument bounds the JSON of a person's argument, in bytes.
const maxArgument = 8 << 10

// decodeArgument reads the argument of what a person asks for, into a type without methods. It reads the JSON
// strictly, since a misspelt field would be left out unseen. It may be quoted once more as a string; null
// leaves the value as it is.
func decodeArgument[Plain any](data []byte, of, example string, into *Plain) error {
	if len(data) > maxArgument {
		return fmt.Errorf("a %s's argument has %d bytes: use %d at most", of, len(data), maxArgument)
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
	var decoded Plain
	if err := decoder.Decode(&decoded); err != nil {
		return fmt.Errorf("a %s's argument can't be read, want JSON such as %s: %w", of, example, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something follows a %s's argument", of)
	}
	*into = decoded
	return nil
}
