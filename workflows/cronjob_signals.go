package workflows

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// signalReceiver takes one waiting signal off a channel into the inbox; take
// reports whether there was one.
type signalReceiver struct {
	channel workflow.ReceiveChannel
	take    func() bool
}

// suspendChange is a suspend or resume by signal.
type suspendChange struct {
	suspend bool
	note    protocol.SignalNote
	at      time.Time
	// before is spec.suspend as it was, should the write be refused.
	before bool
}

// triggerRequest is a trigger signal.
type triggerRequest struct {
	note protocol.SignalNote
}

// receivers lists the signals in the order in which those that arrive in one
// workflow task are handled, since their own order is not known then: what the
// object says first, then people's words, suspend after resume, so that in doubt
// nothing starts.
func (c *cronJob) receivers(ctx workflow.Context) []signalReceiver {
	receiver := func(name string, take func(workflow.ReceiveChannel) bool) signalReceiver {
		channel := workflow.GetSignalChannel(ctx, name)
		return signalReceiver{channel, func() bool { return take(channel) }}
	}
	return []signalReceiver{
		receiver(protocol.CronJobSpecSignal, receiveInto[protocol.CronJobSpec](c)),
		receiver(protocol.JobClosedSignal, receiveInto[protocol.JobClosed](c)),
		receiver(protocol.ResumeSignal, c.receiveSuspend(ctx, false)),
		receiver(protocol.SuspendSignal, c.receiveSuspend(ctx, true)),
		receiver(protocol.TriggerSignal, func(channel workflow.ReceiveChannel) bool {
			note, ok := receiveNote(ctx, channel)
			if ok {
				c.inbox = append(c.inbox, triggerRequest{note})
			}
			return ok
		}),
		receiver(protocol.DeletedSignal, receiveInto[protocol.Deleted](c)),
	}
}

// receiveInto takes a signal of our own processes.
func receiveInto[Message any](c *cronJob) func(workflow.ReceiveChannel) bool {
	return func(channel workflow.ReceiveChannel) bool {
		var message Message
		if !channel.ReceiveAsync(&message) {
			return false
		}
		c.inbox = append(c.inbox, message)
		return true
	}
}

func (c *cronJob) receiveSuspend(ctx workflow.Context, suspend bool) func(workflow.ReceiveChannel) bool {
	return func(channel workflow.ReceiveChannel) bool {
		note, ok := receiveNote(ctx, channel)
		if ok {
			c.inbox = append(c.inbox, suspendChange{suspend: suspend, note: note, at: workflow.Now(ctx).UTC()})
		}
		return ok
	}
}

// listen adds the signal channels to a selector.
func (c *cronJob) listen(selector workflow.Selector) {
	for _, signal := range c.signals {
		selector.AddReceive(signal.channel, func(workflow.ReceiveChannel, bool) { signal.take() })
	}
}

// receiveAll empties the signal channels into the inbox.
func (c *cronJob) receiveAll() {
	for _, signal := range c.signals {
		for signal.take() {
		}
	}
}

// handleAll merges the inbox into the state.
func (c *cronJob) handleAll(ctx workflow.Context) {
	now := workflow.Now(ctx)
	for _, message := range c.inbox {
		switch message := message.(type) {
		case protocol.CronJobSpec:
			c.handleSpec(message, now)
		case protocol.JobClosed:
			c.handleJobClosed(message)
		case suspendChange:
			c.handleSuspend(message)
		case triggerRequest:
			c.state = schedule.AddTrigger(c.state, triggerNote(message.note), now)
		case protocol.Deleted:
			c.gone = c.gone || message.UID == c.cronJob.UID
		}
	}
	c.inbox = nil
}

func triggerNote(note protocol.SignalNote) string {
	switch {
	case note.By == "":
		return note.Note
	case note.Note == "":
		return "by " + note.By
	}
	return note.Note + " (by " + note.By + ")"
}

// handleSpec takes over the object's scheduling fields. At one generation there
// is one truth, so the same generation again is taken too: it means that the
// bridge does not find our status on the object, which is then written again.
func (c *cronJob) handleSpec(message protocol.CronJobSpec, now time.Time) {
	if message.CronJob.UID != c.cronJob.UID {
		if message.Created.Before(c.state.Created) {
			return
		}
		c.successor = &protocol.CronJobInput{
			Cluster:          c.cluster,
			CronJob:          message.CronJob,
			Created:          message.Created,
			Spec:             message.Spec,
			SearchAttributes: c.searchAttributes,
		}
		return
	}
	spec := message.Spec
	if c.successor != nil || spec.Generation < c.spec.Generation {
		return
	}
	switch {
	case c.suspend != nil:
		// A signal is being written over what the object says.
		c.suspend.before, spec.Suspend = spec.Suspend, c.spec.Suspend
	case spec.Generation < c.state.SuspendGeneration:
		spec.Suspend = c.spec.Suspend
	}
	if spec.Generation > c.spec.Generation || message.Overdue {
		c.pause = schedule.Backoff{}
	}
	c.state = schedule.SpecChanged(c.state, c.spec, spec, now)
	c.state.Reported = nil
	c.spec = spec
}

// handleSuspend suspends or resumes at once; the object is written next.
func (c *cronJob) handleSuspend(change suspendChange) {
	change.before = c.spec.Suspend
	if c.suspend != nil {
		change.before = c.suspend.before
	}
	c.suspend = &change
	c.spec.Suspend = change.suspend
	c.pause = schedule.Backoff{}
	if change.suspend {
		c.disarm()
	}
}

// writeSuspend makes the object say what a suspend or resume signal said. The
// generation that results outranks specs read before it.
func (c *cronJob) writeSuspend(ctx workflow.Context) {
	change := *c.suspend
	word := "resume"
	if change.suspend {
		word = "suspend"
	}
	result, err := callListening[protocol.SetSuspendResult](ctx, c, word+" "+c.cronJob.Name, protocol.SetSuspendActivity,
		protocol.SetSuspendRequest{
			Kind: "CronJob", Object: c.cronJob, Suspend: change.suspend, Note: change.note, At: change.at,
		})
	if ctx.Err() != nil {
		return
	}
	if err != nil && !final(err) {
		c.pause = c.pause.Next(workflow.Now(ctx))
		return
	}
	c.suspend = nil
	switch {
	case err != nil:
		// The object is the truth: without leave to write it, its word stands.
		c.spec.Suspend = change.before
		c.state.Outbox = append(c.state.Outbox, event.Warning("FailedUpdate",
			"Error writing spec.suspend for signal "+word+": "+shortError(err)))
		workflow.GetLogger(ctx).Warn("Signal refused by the API server", "signal", word, "error", err)
	case result.Gone:
		c.gone = true
	default:
		c.spec.Suspend = change.suspend
		c.state.SuspendGeneration = max(c.state.SuspendGeneration, result.Generation)
		// A larger step holds an edit that has not reached us yet.
		if result.Generation == c.spec.Generation+1 {
			c.spec.Generation = result.Generation
		}
	}
}

// handleJobClosed takes in the end of a run that this workflow can't hear of by
// itself.
func (c *cronJob) handleJobClosed(message protocol.JobClosed) {
	if message.CronJobUID != c.cronJob.UID {
		return
	}
	c.runEnded(schedule.Run{Name: message.Name, UID: message.Result.UID}, message.Result)
}

// runEnded merges the end of a run into the state.
func (c *cronJob) runEnded(run schedule.Run, result job.Result) {
	if result.Outcome != job.Complete && result.Outcome != job.Failed {
		c.state = schedule.Missing(c.state, run)
		return
	}
	c.state = schedule.Finish(c.state, c.spec, schedule.Finished{
		Run:            run,
		Condition:      batchv1.JobConditionType(result.Outcome),
		StartTime:      result.StartTime,
		CompletionTime: result.CompletionTime,
	})
}
