package workflows

import (
	"iter"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/packed"
)

// mailbox returns a workflow's signals in the history's order, which Interceptor notes: the SDK has a queue for each
// name, so that "suspend, resume" and "resume, suspend" look the same.
type mailbox struct {
	order *signalOrder
}

// message is one signal as it came.
type message struct {
	signal  string
	payload *commonpb.Payload
}

// signalOrder holds the names of the signals that wait, in the order of the history.
type signalOrder struct{ waiting []string }

type signalOrderKey struct{}

// newMailbox panics if the worker lacks the interceptor: the workflow task fails until a worker has it.
func newMailbox(ctx workflow.Context) *mailbox {
	order, ok := ctx.Value(signalOrderKey{}).(*signalOrder)
	if !ok {
		panic("the worker lacks the interceptor workflows.Interceptor")
	}
	return &mailbox{order}
}

// pending reports whether a signal waits.
func (m *mailbox) pending() bool { return len(m.order.waiting) > 0 }

// holds reports whether a signal waits whose name satisfies a condition.
func (m *mailbox) holds(condition func(signal string) bool) bool {
	return slices.ContainsFunc(m.order.waiting, condition)
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
			signal := m.order.waiting[0]
			m.order.waiting = m.order.waiting[1:]
			var value converter.RawValue
			// A payload that the data converter can't take has been dropped by the SDK.
			if workflow.GetSignalChannel(ctx, signal).ReceiveAsync(&value) && !yield(message{signal, value.Payload()}) {
				return
			}
			if packed.Large(value.Payload().GetData()) {
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
	if err := converter.GetDefaultDataConverter().FromPayload(received.payload, &content); err != nil {
		workflow.GetLogger(ctx).Warn("Signal dropped: its argument can't be read", "signal", received.signal, "error", err)
		return content, false
	}
	if judged, ok := any(content).(interface{ Validate() error }); ok {
		if err := judged.Validate(); err != nil {
			workflow.GetLogger(ctx).Warn("Signal dropped", "signal", received.signal, "error", err)
			return content, false
		}
	}
	return content, true
}
