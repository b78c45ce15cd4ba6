package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// wishes wait, in their order.
type wishes []protocol.Wish

// steeringOf reads a signal suspend or resume.
func steeringOf(ctx workflow.Context, received message) protocol.Wish {
	note, unread := noteOf(ctx, received)
	wish := protocol.Wish{Suspend: received.signal == protocol.SuspendSignal, Note: note, Unread: unread, At: workflow.Now(ctx).UTC()}
	reason, force := decodeResume(received.payload.GetData())
	switch {
	case reason == "" && !force:
	case wish.Suspend:
		// Who suspends may call the note what who resumes calls it.
		wish.Note.Note, wish.Unread = cmp.Or(note.Note, reason), ""
	default:
		wish.Reason, wish.Force, wish.Unread = reason, force, ""
	}
	return wish
}

// and returns the wishes with one more. Where there are too many the next takes the place
// of the first: the last word counts. No two have the same time, by which SetSuspend knows
// the one that it has carried out.
func (w wishes) and(wish protocol.Wish) wishes {
	if last := len(w) - 1; last >= 0 && !wish.At.After(w[last].At) {
		wish.At = w[last].At.Add(time.Nanosecond)
	}
	w = append(w, wish)
	if len(w) <= protocol.MaxWishes {
		return w
	}
	return w[1:].after(w[0])
}

// after returns the wishes behind one that was not carried out: the next takes its place,
// or it waits on where there is none.
func (w wishes) after(wish protocol.Wish) wishes {
	if len(w) == 0 {
		return wishes{wish}
	}
	w[0].Superseded += wish.Superseded + 1
	return w
}
