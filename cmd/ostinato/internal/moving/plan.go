package moving

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// Action is what is to be done next. From is the object that moves, To the object that it becomes.
type Action string

// Actions of a Step.
const (
	Wait        Action = "wait"
	SuspendFrom Action = "suspend"
	ResumeFrom  Action = "resume"
	CreateTo    Action = "create"
	ResumeTo    Action = "start"
	DeleteTo    Action = "replace"
	DeleteFrom  Action = "delete"
	Done        Action = "done"
	Refuse      Action = "refuse"
)

// Step is what is to be done next, and why.
type Step struct {
	Do  Action
	Why string
	// AtOnce says that the step after this one is not to wait for another look: until then nothing runs the CronJob.
	AtOnce bool
}

// View is what is known of a move.
type View struct {
	Name string
	// Undo is the way back: From is ours then, and To the one of batch/v1. Either is nil where there is none.
	Undo     bool
	From, To *Side
	// Delete says that From is to be deleted in the end; else it stays suspended.
	Delete bool
	// Jobs are the names of the Jobs of the namespace.
	Jobs map[string]bool
}

// Next is the next step.
func (v View) Next(now time.Time) Step {
	switch {
	case v.From != nil && v.From.Deleting, v.To != nil && v.To.Deleting:
		return Step{Do: Wait, Why: "one of the two objects is being deleted"}
	case v.Undo:
		return v.back(now)
	}
	return v.forth(now)
}

// apart reports whether the runs of From have to end before those of To may start.
func (v View) apart() bool {
	return v.From.policy == batchv1.ForbidConcurrent || v.From.policy == batchv1.ReplaceConcurrent
}

// forth is the way from batch/v1 to ours. Ours is created last: it catches up what came after the last run of the other.
func (v View) forth(now time.Time) Step {
	native, ours := v.From, v.To
	switch {
	case native == nil && ours.held():
		return Step{Do: ResumeTo, Why: "a move back was not done"}
	case native.held() && ours.held() && native.From == ours.UID:
		return Step{Do: DeleteFrom, Why: "a move back was not done"}
	case native == nil && ours != nil && ours.From != "":
		return Step{Do: Done, Why: "it was moved before, and the batch/v1 CronJob is gone"}
	case native == nil:
		return Step{Do: Refuse, Why: "there is no batch/v1 CronJob of that name"}
	case ours != nil && !ours.held() && ours.From != native.UID:
		return Step{Do: Refuse, Why: "a CronJob of batch.ostinato.dev that was not made from it has the name already: delete the unwanted one"}
	case ours.held():
		return Step{Do: DeleteTo, Why: "a move back has left it"}
	case !native.Suspended:
		return v.suspend(now)
	case ours != nil:
		return v.finish()
	case v.apart() && len(native.Active) > 0:
		return v.waitForRuns()
	}
	return Step{Do: CreateTo}
}

// back is the way from ours to batch/v1. The one of batch/v1 is created before the runs of ours are awaited, suspended: its
// controller counts from the creation, and catches up what comes in the meantime. One that is left from the move is not used
// again: the controller would count from its old status, find Jobs of ours of the same names, and look no more.
func (v View) back(now time.Time) Step {
	ours, native := v.From, v.To
	if ours == nil {
		return v.alone(now)
	}
	made := native != nil && native.From == ours.UID
	switch {
	case made && !native.held() && !ours.Suspended:
		return v.suspend(now)
	case made && !native.held():
		return v.finish()
	case made && !ours.Suspended:
		return Step{Do: DeleteTo, Why: "the CronJob of batch.ostinato.dev was resumed meanwhile"}
	case made:
		if missed, ok := v.came(ours.HeldAt, native.Created); ok && ours.held() {
			return Step{Do: DeleteTo, Why: fmt.Sprintf("%s came before it was there", missed.Format(time.RFC3339))}
		}
		if v.apart() && len(ours.Active) > 0 {
			return v.waitForRuns()
		}
		return Step{Do: ResumeTo}
	case native.held():
		return Step{Do: DeleteTo, Why: "the move has left it"}
	case native != nil:
		return Step{Do: Refuse, Why: "a batch/v1 CronJob of that name is there that no move has left: delete the unwanted one"}
	case !ours.Suspended:
		return v.suspend(now)
	}
	if missed, ok := v.came(ours.HeldAt, now); ok && ours.held() {
		return Step{Do: ResumeFrom, Why: fmt.Sprintf("%s came meanwhile, and it is to run it", missed.Format(time.RFC3339))}
	}
	return Step{Do: CreateTo}
}

// alone is the way back where there is none of ours (any more).
func (v View) alone(now time.Time) Step {
	native := v.To
	switch {
	case native == nil:
		return Step{Do: Refuse, Why: "there is no CronJob of that name"}
	case !native.held():
		return Step{Do: Done, Why: "it is one of batch/v1"}
	}
	v.From = native
	if last, came := v.came(native.Last, now); came && v.ran(last) {
		return Step{Do: Refuse, Why: "its last time was run by another, over which its controller would stumble: delete it with --cascade=orphan and apply it again"}
	}
	return Step{Do: ResumeTo}
}

// suspend stops the object that moves, in a gap.
func (v View) suspend(now time.Time) Step {
	if why := v.noGap(now); why != "" {
		return Step{Do: Wait, Why: why}
	}
	return Step{Do: SuspendFrom, AtOnce: v.Undo}
}

// finish is what remains once To runs and From is suspended.
func (v View) finish() Step {
	switch {
	case len(v.From.Active) > 0:
		return v.waitForRuns()
	case !v.To.Seen:
		return Step{Do: Wait, Why: "Ostinato has not seen the new CronJob yet: are bridge, worker and Temporal running?"}
	case v.Delete:
		return Step{Do: DeleteFrom}
	}
	return Step{Do: Done}
}

func (v View) waitForRuns() Step {
	why := "run " + v.From.Active[0] + " is active"
	if more := len(v.From.Active) - 1; more > 0 {
		why = fmt.Sprintf("run %s and %d more are active", v.From.Active[0], more)
	}
	return Step{Do: Wait, Why: why}
}

// Created reports whether the new CronJob is there already, or was the old one of a move that was not done.
func (v View) Created() bool {
	return v.From != nil && v.To != nil && (v.To.From == v.From.UID || !v.Undo && v.From.held() && v.From.From == v.To.UID)
}

// Stands says what a move that is not done has left, and how to go on.
func (v View) Stands() string {
	switch {
	case v.From != nil && !v.From.Suspended && (v.To == nil || v.To.Suspended):
		return "it runs as before; run the command again to go on"
	case v.From != nil && (v.To == nil || v.To.held()):
		if v.Undo {
			return "it is suspended and nothing runs it: run the command again to go on, or without --undo to go back"
		}
		return "it is suspended and nothing runs it: run the command again to go on, or with --undo to go back"
	}
	return "the new CronJob is there; run the command again to finish"
}
