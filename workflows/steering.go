package workflows

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// mostWishes bounds the wishes that wait. Each is a write of the object, of which the bridge
// tells again. Temporal repeats a workflow task during which more than 100 events come: with
// a write for each of 200 signals it repeats the task, with all its writes, for ever.
const mostWishes = 10

// steering is a person's wish to suspend or resume.
type steering struct {
	suspend bool
	note    protocol.SignalNote
	// reason and force are those of a resume.
	reason string
	force  bool
	// unread says why nothing is made of the signal's argument.
	unread string
	// superseded is how many wishes before this one are left out.
	superseded int
	at         time.Time
}

// wishes wait, in their order.
type wishes []steering

// steeringOf reads a signal suspend or resume.
func steeringOf(ctx workflow.Context, received message) steering {
	note, unread := noteOf(ctx, received)
	wish := steering{suspend: received.signal == protocol.SuspendSignal, note: note, unread: unread, at: workflow.Now(ctx).UTC()}
	reason, force := decodeResume(received.payload.GetData())
	switch {
	case reason == "" && !force:
	case wish.suspend:
		// Who suspends may call the note what who resumes calls it.
		wish.note.Note, wish.unread = cmp.Or(note.Note, reason), ""
	default:
		wish.reason, wish.force, wish.unread = reason, force, ""
	}
	return wish
}

// and returns the wishes with one more. Where there are too many the next takes the place
// of the first: the last word counts.
func (w wishes) and(wish steering) wishes {
	w = append(w, wish)
	if len(w) <= mostWishes {
		return w
	}
	return w[1:].after(w[0])
}

// after returns the wishes behind one that was not carried out: the next takes its place,
// or it waits on where there is none.
func (w wishes) after(wish steering) wishes {
	if len(w) == 0 {
		return wishes{wish}
	}
	w[0].superseded += wish.superseded + 1
	return w
}
