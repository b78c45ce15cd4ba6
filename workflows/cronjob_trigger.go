package workflows

import (
	"bytes"
	"encoding/json"

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
	c.state = schedule.AddTrigger(c.state, triggerNote(note, unread), overlap, workflow.Now(ctx))
}

// triggerNote is what the ledger says of a trigger.
func triggerNote(note protocol.SignalNote, unread string) string {
	switch {
	case unread != "":
		return "the signal's argument was left unread: " + unread
	case note.By == "":
		return note.Note
	case note.Note == "":
		return "by " + note.By
	}
	return note.Note + " (by " + note.By + ")"
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
