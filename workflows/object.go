package workflows

import (
	"errors"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/steering"
)

// object is what the workflow of a CronJob and that of a Job both know of their object, and what signals have asked for and is not
// done yet. What they say is not believed: it is a reason to look. Input is the workflow's.
type object[Input any] struct {
	reference protocol.ObjectReference
	mailbox   *mailbox
	alarm     alarm
	// pause follows calls that failed.
	pause backoff
	// unknown are the unknown signals of the minute.
	unknown steering.Unknown
	// stale: the object may have been edited or deleted.
	stale bool
	// successor is the input for another object of the name: a successor's, or a late one for a predecessor.
	successor *Input
	// wishes are those of people to suspend, resume and stop, in their order.
	wishes wishes
	// gone says that the object no longer exists: an activity has seen it.
	gone bool
}

// receiveCommon takes a signal that both workflows take. It returns the Event that answers one that neither does, if it is to be answered.
func (o *object[Input]) receiveCommon(ctx workflow.Context, received message, takes string) (answers []event.Event) {
	switch received.signal {
	case protocol.DeletedSignal:
		deleted, ok := open[protocol.Deleted](ctx, received)
		o.stale = o.stale || ok && deleted.UID == o.reference.UID
	case protocol.SuspendSignal, protocol.ResumeSignal:
		o.wishes = o.wishes.and(steeringOf(ctx, received))
	default:
		var answer string
		if o.unknown, answer = o.unknown.Hear(received.signal, takes, workflow.Now(ctx)); answer != "" {
			workflow.GetLogger(ctx).Warn(answer)
			return []event.Event{event.Warning(event.SignalUnknown, answer)}
		}
	}
	return nil
}

// isAbout reports whether the bridge's word of an object is about this one. An input for another one of the name is kept.
func (o *object[Input]) isAbout(ctx workflow.Context, reference protocol.ObjectReference, input Input) bool {
	uid := reference.UID
	reference.UID = o.reference.UID
	switch {
	case reference != o.reference:
		workflow.GetLogger(ctx).Warn("Signal dropped: it is about another object", "name", reference.Name)
	case uid != reference.UID:
		o.successor = &input
	default:
		return true
	}
	return false
}

// setSuspend writes spec.suspend, or that a Job is stopped, as the first wish says, so that the object, kubectl and the workflow agree. receive takes what the
// write gave way to. After an error that a repetition may change the wish waits, and so does one that may be about another object.
func (o *object[Input]) setSuspend(
	ctx workflow.Context, title string, request protocol.SetSuspendRequest, options callOptions, receive func(workflow.Context),
) (protocol.SetSuspendResult, error) {
	wish := o.wishes[0]
	request.Object, request.Wish, options.givesWay = o.reference, wish, o.mailbox.steered
	result, err := perform(ctx, setSuspend, wish.Signal()+" "+title, request, options)
	switch {
	case errors.Is(err, errGaveWay):
		o.wishes = o.wishes[1:]
		receive(ctx)
		o.wishes = o.wishes.after(wish)
	case err != nil && !final(err):
		o.pause.failed(ctx, "Carrying out a signal failed", err)
	case err != nil:
		workflow.GetLogger(ctx).Error("Carrying out a signal was refused", "signal", wish.Signal(), "error", err)
		fallthrough
	case !result.Overtaken && !result.Gone && !result.Foreign:
		o.wishes = o.wishes[1:]
	}
	return result, err
}
