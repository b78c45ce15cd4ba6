package protocol

import (
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// TriggerSignal and TriggerUpdate start one run of a CronJob now, under its concurrency policy
// or that of a TriggerRequest. The ledger answers the signal, a TriggerAnswer the update.
const (
	TriggerSignal = steering.Trigger
	TriggerUpdate = steering.Trigger
)

// TriggerRequest is the optional argument of both. An update's is read strictly.
type TriggerRequest struct {
	SignalNote
	// Overlap is Allow, Forbid, Replace or Queue, in place of the CronJob's concurrencyPolicy;
	// empty for that.
	Overlap batchv1.ConcurrencyPolicy `json:"overlap,omitempty"`
}

// plainTriggerRequest is TriggerRequest without its methods.
type plainTriggerRequest TriggerRequest

// UnmarshalJSON implements json.Unmarshaler.
func (r *TriggerRequest) UnmarshalJSON(data []byte) error {
	var plain plainTriggerRequest
	if err := decodeArgument(data, "trigger", `{"overlap": "Queue", "note": "once more", "by": "ada"}`, &plain); err != nil {
		return err
	}
	*r = TriggerRequest(plain)
	return nil
}

// TriggerAnswer answers the update TriggerUpdate.
type TriggerAnswer = schedule.TriggerAnswer
