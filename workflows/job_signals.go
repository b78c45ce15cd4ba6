package workflows

import (
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/steering"
)

// maxOrphans bounds the Jobs of the same name whose Pods are looked after at a time: anybody may send any UIDs.
const maxOrphans = 10

// hear takes all waiting signals and carries out what they ask for.
func (w *runningJob) hear(ctx workflow.Context) error {
	w.receive(ctx)
	if w.reasonToLook() && w.pause.over(workflow.Now(ctx)) {
		if err := w.refresh(ctx); err != nil {
			return err
		}
	}
	for len(w.wishes) > 0 && !w.gone && !w.foreign && w.pause.over(workflow.Now(ctx)) {
		if err := w.suspend(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pending reports whether something is left to be done.
func (w *runningJob) pending() bool { return w.reasonToLook() || len(w.wishes) > 0 }

func (w *runningJob) reasonToLook() bool { return w.stale || w.successor != nil || len(w.answers) > 0 }

// receive takes all waiting signals in the order of the history.
func (w *runningJob) receive(ctx workflow.Context) {
	for received := range w.mailbox.drain(ctx) {
		switch received.signal {
		case protocol.PodsSignal:
			w.takeFacts(ctx, received)
		case protocol.JobSpecSignal:
			w.receiveSpec(ctx, received)
		case protocol.StopSignal:
			w.wishes = w.wishes.and(steeringOf(ctx, received))
		default:
			w.answers = append(w.answers, w.receiveCommon(ctx, received, steering.JobTakes)...)
			w.answers = w.answers[:min(len(w.answers), maxAnswers)]
		}
	}
}

// maxAnswers bounds the Events about unknown signals that wait for the API server.
const maxAnswers = 10

func (w *runningJob) takeFacts(ctx workflow.Context, received message) {
	facts, ok := open[protocol.PodFacts](ctx, received)
	if !ok {
		return
	}
	if orphaned := facts.JobUID; orphaned != w.reference.UID {
		if len(w.orphans) < maxOrphans && !slices.Contains(w.orphans, orphaned) {
			w.orphans = append(w.orphans, orphaned)
		}
		return
	}
	w.state = w.state.Observe(facts.Facts)
	if facts.Differ {
		w.state = w.state.Doubted()
	}
}

// releaseNextOrphans releases the Pods of another Job of the same name. It gives way to whatever comes, and goes on then.
func (w *runningJob) releaseNextOrphans(ctx workflow.Context) error {
	orphaned := w.reference
	orphaned.UID, w.orphans = w.orphans[0], w.orphans[1:]
	_, err := w.releaseOrphans(ctx, protocol.ReleaseOrphansRequest{Job: orphaned}, w.mailbox.pending)
	if errors.Is(err, errGaveWay) {
		w.orphans = append(w.orphans, orphaned.UID)
		return nil
	}
	return err
}

// receiveSpec takes the bridge's word that a Job has changed or is new, and the watch's that creates of its first Pods may land.
func (w *runningJob) receiveSpec(ctx workflow.Context, received message) {
	signal, ok := open[protocol.JobSpec](ctx, received)
	input, before := signal.Input, w.successor
	switch {
	case !ok:
	case !w.isAbout(ctx, input.Job, input):
		if before != nil && w.successor.Job == before.Job {
			// The bridge does not know of such creates.
			w.successor.Late = w.successor.Late || before.Late
		}
	default:
		w.hearOfFirst(ctx, input.Late)
		if digest(input.Spec) != digest(w.spec) {
			w.hearOfEdit()
			w.stale, w.told = true, &input.Spec
		}
	}
}

// hearOfFirst takes in whether creates of the first Pods may land. It does so once: they are made once, and a writer of Temporal can say it again.
func (w *runningJob) hearOfFirst(ctx workflow.Context, late bool) {
	if late && !w.input.Late {
		w.input.Late, w.state = true, w.state.Awaits(workflow.Now(ctx))
	}
}

// refresh reads the Job: it may be gone, another controller's, or edited. A successor stays only if it is a successor.
func (w *runningJob) refresh(ctx workflow.Context) error {
	if done, err := w.raise(ctx); done {
		return err
	}
	request := protocol.JobRequest{Job: w.reference, Digest: digest(w.spec), Events: w.answers}
	if w.unread {
		// The answer is the spec, with the defaults that no digest covers.
		request.Digest = ""
	}
	result, err := perform(ctx, carryOut, "look at job "+w.reference.Name, request, callOptions{})
	if err != nil {
		w.pause.failed(ctx, "Looking at the Job failed", err)
		return cancelled(err)
	}
	w.pause.reset()
	w.applyObject(result)
	w.unread, w.stale, w.edited, w.answers = false, false, false, nil
	if !w.gone {
		w.successor = nil
	}
	return nil
}

// raise carries out the plan for an edit that wants more Pods, as it was told: its digest is compared with the Job's, so
// that one read does for both. done is false where the Job is to be looked at first.
func (w *runningJob) raise(ctx workflow.Context) (done bool, err error) {
	told, now := w.told, workflow.Now(ctx)
	w.told = nil
	if told == nil || w.successor != nil || now.Before(w.slowUntil) {
		return false, nil
	}
	plan, ok := job.DecideRaise(w.state, w.spec, *told, now)
	if !ok {
		return false, nil
	}
	w.spec = *told
	switch err = w.execute(ctx, plan); {
	case err == nil:
		w.stale, w.edited = false, false
	case errors.Is(err, errGaveWay):
		err = nil
	default:
		w.pause.begin(now)
		workflow.GetLogger(ctx).Error("Carrying out an edit failed", "error", err)
		err = cancelled(err)
	}
	return true, err
}

// applyObject takes what a result says about the Job object itself.
func (w *runningJob) applyObject(result protocol.JobResult) {
	w.gone, w.foreign = w.gone || result.Gone, w.foreign || result.Foreign
	spec := w.spec
	if result.CurrentSpec != nil && result.CurrentSpec.Validate() == nil {
		if spec = *result.CurrentSpec; digest(spec) != digest(w.spec) {
			w.hearOfEdit()
		}
		w.edited = false
	}
	if result.Current != nil {
		w.state, w.spec = w.state.Reread(w.spec, spec, *result.Current)
	} else {
		w.state, w.spec = w.state.Edited(w.spec, spec)
	}
}

// hearOfEdit notes how the Pods are when the first word comes of an edit: what becomes of them later does not come before it.
func (w *runningJob) hearOfEdit() {
	if !w.edited {
		w.edited, w.deleting = true, w.state.BeingDeleted()
	}
}

// suspendBudget bounds a call that writes spec.suspend, after which the Job goes on with its Pods until the
// next: one attempt at an API server that does not answer.
const suspendBudget = 30 * time.Second

// suspend suspends, resumes or stops the Job, as the first wish says.
func (w *runningJob) suspend(ctx workflow.Context) error {
	request := protocol.SetSuspendRequest{Kind: protocol.JobKind}
	result, err := w.setSuspend(ctx, "job "+w.reference.Name, request, callOptions{budget: suspendBudget}, w.receive)
	if err != nil {
		return cancelled(err)
	}
	w.pause.reset()
	w.applyObject(protocol.JobResult{Gone: result.Gone, Foreign: result.Foreign, CurrentSpec: result.JobSpec})
	return nil
}
