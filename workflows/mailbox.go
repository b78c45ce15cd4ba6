package workflows

import (
	"iter"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/packed"
	"ostinato.dev/ostinato/internal/protocol"
)

// mailbox returns a workflow's signals in the history's order, which Interceptor notes: the SDK has a queue for each
// name, so that "suspend, resume" and "resume, suspend" look the same.
type mailbox struct {
	// waiting are the names of the signals that wait.
	waiting []string
	// callers are the users that the headers of signals name that people send, of those that the SDK's queues have.
	callers map[string][]string
}

type mailboxKey struct{}

// message is one signal as it came.
type message struct {
	signal  string
	payload *commonpb.Payload
	// caller is the user that the header of a signal that people send names; empty if it names none. What acts on it decides whether
	// to believe it: a replay must do the same whatever this worker believes.
	caller string
}

// note takes note of a signal before the SDK queues it.
func (m *mailbox) note(ctx workflow.Context, signal string) {
	m.waiting = append(m.waiting, signal)
	if _, ofPeople := fieldsOf[signal]; !ofPeople {
		return
	}
	if m.callers == nil {
		m.callers = map[string][]string{}
	}
	m.callers[signal] = append(m.callers[signal], callerOf(ctx))
}

// take returns the next signal of a name, and false if there is none. The SDK drops one whose payload the data converter can't take.
func (m *mailbox) take(ctx workflow.Context, signal string) (received message, ok bool) {
	channel := workflow.GetSignalChannel(ctx, signal)
	waiting, value := channel.Len(), converter.RawValue{}
	ok = channel.ReceiveAsync(&value)
	received = message{signal: signal, payload: value.Payload()}
	if taken, callers := waiting-channel.Len(), m.callers[signal]; taken > 0 && taken <= len(callers) {
		received.caller, m.callers[signal] = callers[taken-1], callers[taken:]
	}
	return received, ok
}

// mailboxOf panics if the worker lacks the interceptor: the workflow task fails until a worker has it.
func mailboxOf(ctx workflow.Context) *mailbox {
	m, ok := ctx.Value(mailboxKey{}).(*mailbox)
	if !ok {
		panic("the worker lacks the interceptor workflows.Interceptor")
	}
	return m
}

// pending reports whether a signal waits.
func (m *mailbox) pending() bool { return len(m.waiting) > 0 }

// steers are the signals that may change what an object is to do.
var steers = []string{
	protocol.SuspendSignal, protocol.ResumeSignal, protocol.JobSpecSignal, protocol.CronJobSpecSignal,
	protocol.DeletedSignal, protocol.TriggerSignal, protocol.StopSignal,
}

// ends are those of them that end a start whose time has come. A trigger waits for it.
var ends = []string{protocol.SuspendSignal, protocol.ResumeSignal, protocol.CronJobSpecSignal, protocol.DeletedSignal}

// steered reports whether one of these waits: a plan that waits for the API server gives way to it.
func (m *mailbox) steered() bool { return m.holds(steers...) }

// holds reports whether one of these signals waits.
func (m *mailbox) holds(signals ...string) bool {
	return slices.ContainsFunc(m.waiting, func(signal string) bool { return slices.Contains(signals, signal) })
}

const (
	// drainAtATime is how many signals are taken before others of the process may go on.
	drainAtATime = 20
	// largeATask is how many large ones (packed.Large) are taken in one workflow task, which has ten seconds: each may
	// wait long for others to be decoded.
	largeATask = 4
)

// drain takes the signals that wait. After some it yields the workflow's turn, after some large ones it ends the
// workflow task, so that they are not decoded again if the next task fails.
func (m *mailbox) drain(ctx workflow.Context) iter.Seq[message] {
	return func(yield func(message) bool) {
		large := 0
		for taken := 1; m.pending(); taken++ {
			signal := m.waiting[0]
			m.waiting = m.waiting[1:]
			received, ok := m.take(ctx, signal)
			if ok && !yield(received) {
				return
			}
			if packed.Large(received.payload.GetData()) {
				large++
			}
			switch {
			case !m.pending():
			case large == largeATask:
				large = 0
				endTask(ctx)
			case taken%drainAtATime == 0:
				yieldTurn(ctx)
			}
		}
	}
}

// endTask goes on in the next workflow task, unless the workflow is cancelled.
func endTask(ctx workflow.Context) {
	// The only error is that of a cancelled context, whose timers are over at once.
	_ = workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "more large signals"}).Get(ctx, nil)
}

// yieldTurn ends the coroutine's turn within the workflow task, without a trace in the history.
func yieldTurn(ctx workflow.Context) {
	over, end := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(workflow.Context) { end.SetValue(nil) })
	// The future holds no error.
	_ = over.Get(ctx, nil)
}

// open decodes a message of our own processes. What can't be read, or is not valid, is dropped: anybody may have sent it.
//
//workflowcheck:ignore encoding/json uses reflection; what it decodes is deterministic.
func open[Content any](ctx workflow.Context, received message) (content Content, ok bool) {
	why, err := "Signal dropped: its argument can't be read", converter.GetDefaultDataConverter().FromPayload(received.payload, &content)
	if judged, ok := any(content).(interface{ Validate() error }); ok && err == nil {
		why, err = "Signal dropped", judged.Validate()
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn(why, "signal", received.signal, "error", err)
	}
	return content, err == nil
}
