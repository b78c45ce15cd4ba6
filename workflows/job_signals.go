package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/protocol"
)

// jobSignals are the channels a Job workflow listens to.
type jobSignals struct {
	pods, spec, deleted, suspend, resume workflow.ReceiveChannel
}

func newJobSignals(ctx workflow.Context) jobSignals {
	return jobSignals{
		pods:    workflow.GetSignalChannel(ctx, protocol.PodsSignal),
		spec:    workflow.GetSignalChannel(ctx, protocol.JobSpecSignal),
		deleted: workflow.GetSignalChannel(ctx, protocol.DeletedSignal),
		suspend: workflow.GetSignalChannel(ctx, protocol.SuspendSignal),
		resume:  workflow.GetSignalChannel(ctx, protocol.ResumeSignal),
	}
}

func (s jobSignals) pending() bool {
	return s.pods.Len()+s.spec.Len()+s.deleted.Len()+s.suspend.Len()+s.resume.Len() > 0
}

// steer is a person's wish to suspend or resume.
type steer struct {
	suspend bool
	note    protocol.SignalNote
}

// hear takes all waiting signals and carries out what they ask for.
func (w *jobWorkflow) hear(ctx workflow.Context) error {
	stranger := w.take(ctx)
	if stranger != nil {
		if err := w.examine(ctx, *stranger); err != nil {
			return err
		}
	}
	for len(w.steering) > 0 && !w.deleted {
		wish := w.steering[0]
		w.steering = w.steering[1:]
		if err := w.steer(ctx, wish); err != nil {
			return err
		}
	}
	return nil
}

// take takes all waiting signals and returns the spec of another Job of the same
// name, if one came. After the Job is known to be gone such a spec is its successor's.
func (w *jobWorkflow) take(ctx workflow.Context) (stranger *protocol.JobInput) {
	for w.signals.pending() {
		w.takeDeleted()
		w.takeFacts(ctx)
		if other := w.takeSpecs(); other != nil {
			stranger = other
		}
		w.takeNotes(ctx)
	}
	if w.deleted && stranger != nil {
		w.successor = stranger
		return nil
	}
	return stranger
}

func (w *jobWorkflow) takeDeleted() {
	var signal protocol.Deleted
	for w.signals.deleted.ReceiveAsync(&signal) {
		w.deleted = w.deleted || signal.UID == w.input.Job.UID
		signal = protocol.Deleted{}
	}
}

func (w *jobWorkflow) takeFacts(ctx workflow.Context) {
	for {
		var signal protocol.PodFacts
		if !w.signals.pods.ReceiveAsync(&signal) {
			return
		}
		if signal.JobUID == w.input.Job.UID {
			w.state = w.state.Observe(signal.Facts).Heard(workflow.Now(ctx))
		}
	}
}

// takeSpecs takes the newest spec of the Job; an older generation than the one
// known is late and is ignored.
func (w *jobWorkflow) takeSpecs() (stranger *protocol.JobInput) {
	for {
		var signal protocol.JobSpec
		if !w.signals.spec.ReceiveAsync(&signal) {
			return stranger
		}
		if signal.Input.Job.UID != w.input.Job.UID {
			stranger = &signal.Input
			continue
		}
		if signal.Input.Spec.Generation >= w.spec.Generation {
			w.edit(signal.Input.Spec)
		}
	}
}

// takeNotes takes the signals of people. Each name is a queue of its own, so the
// order between suspend and resume is not known; people take turns, so when both
// wait the one that changes something came first.
func (w *jobWorkflow) takeNotes(ctx workflow.Context) {
	for _, suspend := range []bool{!w.spec.Suspend, w.spec.Suspend} {
		channel := w.signals.resume
		if suspend {
			channel = w.signals.suspend
		}
		for {
			note, ok := receiveNote(ctx, channel)
			if !ok {
				break
			}
			w.steering = append(w.steering, steer{suspend, note})
		}
	}
}

// examine decides whether a spec of another UID is a successor's or is late and
// meant for a predecessor: the Job's own existence tells.
func (w *jobWorkflow) examine(ctx workflow.Context, stranger protocol.JobInput) error {
	if err := w.probe(ctx); err != nil {
		return err
	}
	if w.deleted {
		w.successor = &stranger
	}
	return nil
}

// steer writes spec.suspend, so that the object, kubectl and the workflow agree.
// The generation that the write gives the object makes older specs late.
func (w *jobWorkflow) steer(ctx workflow.Context, wish steer) error {
	request := protocol.SetSuspendRequest{
		Kind:    "Job",
		Object:  w.input.Job,
		Suspend: wish.suspend,
		Note:    wish.note,
		At:      workflow.Now(ctx),
	}
	summary := "resume job " + w.input.Job.Name
	if wish.suspend {
		summary = "suspend job " + w.input.Job.Name
	}
	result, err := callKube[protocol.SetSuspendResult](ctx, summary, protocol.SetSuspendActivity, request)
	switch {
	case temporal.IsCanceledError(err):
		return err
	case err != nil:
		workflow.GetLogger(ctx).Error("Setting spec.suspend failed", "error", err, "suspend", wish.suspend)
		return nil
	case result.Gone:
		w.deleted = true
		return nil
	}
	spec := w.spec
	spec.Suspend = wish.suspend
	spec.Generation = max(spec.Generation, result.Generation)
	w.edit(spec)
	return nil
}
