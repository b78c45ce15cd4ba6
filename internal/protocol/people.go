package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// Signals and updates of people. These comments, and those of arguments and answers, are the reference's (dev/gen/reference).
const (
	// SuspendSignal sets spec.suspend. An Event on the object answers it.
	SuspendSignal = steering.Suspend
	// ResumeSignal clears spec.suspend. An Event on the object answers it.
	ResumeSignal = steering.Resume
	// StopSignal writes the annotation ostinato.dev/stop, which ends the Job, where --accept-signals names it. An Event on the object
	// answers it.
	StopSignal = steering.Stop
	// TriggerSignal starts one run now. A row in the ledger answers it.
	TriggerSignal = steering.Trigger
	// TriggerUpdate starts one run now, and says what becomes of it.
	TriggerUpdate = steering.Trigger
	// BackfillUpdate runs past times of the schedule, and says which.
	BackfillUpdate = steering.Backfill
	// RestoreLedgerUpdate gives the ledger back rows of an export that it lacks, for reading.
	RestoreLedgerUpdate = steering.RestoreLedger
)

// SignalNote is the optional argument of SuspendSignal and of StopSignal, and part of the others. A plain JSON string is taken as the note.
type SignalNote struct {
	// Note says why, for the people who look later.
	Note string `json:"note,omitempty"`
	// By is the name of the sender, as claimed. A Temporal server that knows its callers names the user besides.
	By string `json:"by,omitempty"`
}

// ResumeRequest is the optional argument of ResumeSignal.
type ResumeRequest struct {
	SignalNote
	// Reason is the note of the suspension that is taken back. With by or reason, only the suspension that
	// has both as its name and note is taken back.
	Reason string `json:"reason,omitempty"`
	// Force resumes the object, no matter who has suspended it. Then by is the name of the person who resumes.
	Force bool `json:"force,omitempty"`
}

const (
	// MaxWishes bounds the wishes that wait. Each becomes a write of the object, and the bridge signals
	// each write. Temporal repeats a workflow task during which more than 100 events come, so a write
	// for each of 200 signals would repeat the task, with all its writes, for ever.
	MaxWishes = 10
	// maxWishText bounds each text of a wish, in bytes; a workflow cuts those of signals to half of it.
	maxWishText = 1024
)

// Wish is a person's wish to suspend or resume an object, or to stop a Job, as a signal says it.
type Wish struct {
	Suspend bool `json:"suspend"`
	// Stop is to end the Job; Suspend is false then.
	Stop bool       `json:"stop,omitempty"`
	Note SignalNote `json:"note,omitzero"`
	// Caller is the user that names.CallerHeader names, which the activity that carries the wish out may believe.
	Caller string `json:"caller,omitempty"`
	// Reason and Force are those of a ResumeRequest.
	Reason string `json:"reason,omitempty"`
	Force  bool   `json:"force,omitempty"`
	// Unread says why nothing is made of the signal's argument.
	Unread string `json:"unread,omitempty"`
	// Superseded is how many signals came before this one and are not written by themselves.
	Superseded int       `json:"superseded,omitempty"`
	At         time.Time `json:"at"`
}

// Signal is the name of the signal that says the wish.
func (w Wish) Signal() string {
	switch {
	case w.Stop:
		return StopSignal
	case w.Suspend:
		return SuspendSignal
	}
	return ResumeSignal
}

func validateWishes(wishes []Wish) error {
	if len(wishes) > MaxWishes {
		return fmt.Errorf("wishes: %d, want %d at most", len(wishes), MaxWishes)
	}
	for _, wish := range wishes {
		for _, text := range []string{wish.Note.Note, wish.Note.By, wish.Caller, wish.Reason, wish.Unread} {
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
	// Overlap is Allow, Forbid, Replace or Queue, in place of the CronJob's concurrencyPolicy. By default that counts.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
	// Cancel takes back every trigger of the CronJob that waits, and starts none. Send it alone, or with note and by. It is the
	// update's.
	Cancel bool `json:"cancel,omitempty"`
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
	// Accepted is true if the runs will start. The ledger lists each.
	Accepted bool `json:"accepted"`
	// DryRun is that of the request.
	DryRun bool `json:"dryRun,omitempty"`
	// Runs is the number of times.
	Runs int `json:"runs"`
	// First is the first of the times.
	First time.Time `json:"first,omitzero"`
	// Last is the last of the times.
	Last time.Time `json:"last,omitzero"`
	// Times lists the first 100 times.
	Times []time.Time `json:"times,omitempty"`
	// TimesLeftOut is how many times that list leaves out.
	TimesLeftOut int `json:"timesLeftOut,omitempty"`
	// Cancelled is the number of times that a cancel has ended.
	Cancelled int `json:"cancelled,omitempty"`
}

// backfillAnswerTimes bounds BackfillAnswer.Times.
const backfillAnswerTimes = 100

// BackfillAnswerOf returns the answer to a request for these times.
func BackfillAnswerOf(times []time.Time, dryRun bool) BackfillAnswer {
	answer := BackfillAnswer{Accepted: !dryRun, DryRun: dryRun, Runs: len(times), Times: times[:min(len(times), backfillAnswerTimes)]}
	answer.TimesLeftOut = len(times) - len(answer.Times)
	if len(times) > 0 {
		answer.First, answer.Last = times[0], times[len(times)-1]
	}
	return answer
}

// MaxRestoredRows bounds RestoreLedgerRequest.Rows.
const MaxRestoredRows = 300

// RestoreLedgerRequest brings rows of an export.
type RestoreLedgerRequest struct {
	// UID is the CronJob's metadata.uid.
	UID string `json:"uid"`
	// Rows are rows of LedgerQuery, 300 at most.
	Rows []ledger.Entry `json:"rows"`
	// DryRun asks for the answer only.
	DryRun bool `json:"dryRun,omitempty"`
}

// Validate reports whether the rows can be of Jobs, and are not too many.
func (r RestoreLedgerRequest) Validate() error {
	job := func(row ledger.Entry) ObjectReference {
		return ObjectReference{Namespace: "any", Name: cmp.Or(row.Job, "none"), UID: r.UID}
	}
	return validateEach("rows", r.Rows, MaxRestoredRows, job)
}

// RestoreLedgerAnswer answers the update RestoreLedgerUpdate.
type RestoreLedgerAnswer = schedule.ImportAnswer

// maxArgument bounds the JSON of a person's argument, in bytes.
const maxArgument = 8 << 10

// decodeArgument reads the argument of what a person asks for, into a type without methods. It reads the JSON strictly,
// since a misspelt field would be left out unseen. The JSON may be quoted as a string; null leaves the value as it is.
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
