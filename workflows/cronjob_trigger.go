package workflows

import (
	"bytes"
	"encoding/json"
	"errors"

	batchv1 "k8s.io/api/batch/v1"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// takeTrigger asks for a manual run. What the planner can't carry out it answers for.
func (c *runningCronJob) takeTrigger(ctx workflow.Context, received message) {
	note, unread := noteOf(ctx, received)
	overlap := batchv1.ConcurrencyPolicy(decodeOverlap(received.payload.GetData()))
	if overlap != "" {
		unread = ""
	}
	request := schedule.TriggerRequest{Note: note.Note, Overlap: overlap, Asked: schedule.Asked{By: note.By, Through: schedule.ThroughSignal}}
	if unread != "" {
		request.Note = "the signal's argument was left unread: " + unread
	}
	c.state = schedule.AddTrigger(c.state, request, workflow.Now(ctx))
}

// decodeOverlap reads the overlap of a trigger's argument, which may be quoted once more as
// a string. A value that is no string is kept as its JSON text, to be refused in words.
//
//workflowcheck:ignore encoding/json uses reflection; decoding these bytes into strings is deterministic.
func decodeOverlap(data []byte) string {
	var quoted string
	if json.Unmarshal(data, &quoted) == nil {
		data = []byte(quoted)
	}
	var fields struct {
		Overlap json.RawMessage `json:"overlap"`
	}
	if data = bytes.TrimSpace(data); !bytes.HasPrefix(data, []byte("{")) || json.Unmarshal(data, &fields) != nil {
		return ""
	}
	return decodeNoteField(fields.Overlap)
}

// askedTrigger is a run that an update has asked for. An update's handler runs beside the main
// loop, which replaces the state, and so leaves it to that.
type askedTrigger struct {
	request schedule.TriggerRequest
	// sequence is the trigger's number; 0 until the main loop has taken it.
	sequence int64
}

// handleTriggers serves the update "trigger".
func (c *runningCronJob) handleTriggers(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, protocol.TriggerUpdate, c.trigger, workflow.UpdateHandlerOptions{
		Validator:   validateTrigger,
		Description: `Starts a run now: {"overlap": policy, "note": text, "by": name}. Answers {"job": name, "runs": "now", "queued" or "refused", "reason": text}`,
	})
}

// validateTrigger refuses, in words, what can't be understood.
func validateTrigger(_ workflow.Context, request protocol.TriggerRequest) error {
	if mistake := schedule.OverlapMistake(request.Overlap); mistake != "" {
		return errors.New(mistake)
	}
	return nil
}

// trigger answers the update once it is known what becomes of the run.
func (c *runningCronJob) trigger(ctx workflow.Context, request protocol.TriggerRequest) (answer protocol.TriggerAnswer, err error) {
	asked := &askedTrigger{request: schedule.TriggerRequest{
		Note: trimNote(request.Note), Overlap: request.Overlap,
		Asked: schedule.Asked{By: trimNote(request.By), Through: schedule.ThroughUpdate},
	}}
	c.askedTriggers = append(c.askedTriggers, asked)
	// Who cancels the workflow stops nothing.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	err = workflow.Await(ctx, func() (known bool) {
		if asked.sequence != 0 {
			answer, known = schedule.Answer(c.state, asked.sequence)
		}
		if !known && c.gone {
			answer, known = protocol.TriggerAnswer{Runs: schedule.RunsRefused, Reason: "the CronJob is gone"}, true
		}
		return known
	})
	return answer, err
}

// takeAskedTriggers takes what updates have asked for.
func (c *runningCronJob) takeAskedTriggers(ctx workflow.Context) {
	for _, asked := range c.askedTriggers {
		c.state = schedule.AddTrigger(c.state, asked.request, workflow.Now(ctx))
		asked.sequence = c.state.TriggerSequence
	}
	c.askedTriggers = nil
}
