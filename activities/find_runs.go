package activities

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// maxFound bounds the Jobs that one search returns, newest first.
const maxFound = 1000

// FindRuns looks up the runs that are said to have started or ended, and with All the creation time, the status, all Jobs
// that the CronJob controls, and the status' runs whose Jobs are gone. With Backfill or Trigger it says only whether the CronJob takes one. An
// error means that the API server could not be asked.
func (a *Activities) FindRuns(ctx context.Context, request protocol.FindRunsRequest) (result protocol.FindRunsResult, err error) {
	if err := invalidRequest(cmp.Or(bounded(list{"look", len(request.Look), protocol.MaxLooks}), request.Basis.Validate())); err != nil {
		return result, err
	}
	cronJob, err := a.cronJob(ctx, request.CronJob)
	if err != nil || cronJob == nil {
		result.Gone = err == nil
		return result, err
	}
	asks := request.Backfill || request.Trigger
	if request.Backfill {
		_, result.Refused = steering.Accepts(a.AcceptSignals, cronJob.Annotations, steering.Backfill)
	} else if request.Trigger {
		_, result.Refused = steering.Accepts(a.AcceptSignals, cronJob.Annotations, steering.Trigger)
	}
	result.CallerHeader = a.CallerHeader
	result.Overtaken = !request.All && request.Basis.Overtakes(cronJob.Status)
	if asks || result.Overtaken {
		return result, nil
	}
	result.Reset, result.Counts = request.Reset, true
	result.Behind = cronJob.Status.Revision < request.Basis.Revision
	if spec := schedule.SpecOf(cronJob); spec.Digest() != request.Digest {
		result.CurrentSpec = &spec
	}
	if err := a.lookAtRuns(ctx, cronJob, request.Look, &result); err != nil || !request.All {
		return result, err
	}
	result.Created, result.Status = cronJob.CreationTimestamp.UTC(), cronJob.Status.DeepCopy()
	result.Status.LastScheduleTime = schedule.LastScheduleTime(cronJob, a.Clock.Now())
	owned, err := a.searchJobs(ctx, cronJob)
	if err != nil {
		return result, err
	}
	for _, one := range owned {
		a.report(&result, cronJob, one)
	}
	if len(owned) == maxFound {
		return result, nil
	}
	for _, active := range cronJob.Status.Active {
		if !slices.ContainsFunc(owned, func(one *batchv1.Job) bool { return one.UID == active.UID }) {
			run := schedule.Run{Name: active.Name, UID: string(active.UID)}
			result.Ended = append(result.Ended, schedule.Finished{Run: run, Condition: schedule.JobDeleted})
		}
	}
	return result, nil
}

func (a *Activities) lookAtRuns(ctx context.Context, cronJob *ostinatov1.CronJob, runs []schedule.Run, result *protocol.FindRunsResult) error {
	parts, err := gather(runs, func(run schedule.Run) (part protocol.FindRunsResult, err error) {
		if err := (protocol.ObjectReference{Namespace: cronJob.Namespace, Name: run.Name, UID: run.UID}).Validate(); err != nil {
			return part, invalidRequest(fmt.Errorf("look: %w", err))
		}
		found, err := a.controlledJob(ctx, cronJob, run.Name, run.UID, live)
		switch {
		case concernsOne(err):
			// The CronJob itself could be read: one Job that can't be must not hold it up. The
			// bridge reminds the workflow of a run that the status lists and that has ended.
			activity.GetLogger(ctx).Warn("a Job can't be read", "namespace", cronJob.Namespace, "job", run.Name, "error", err)
		case err != nil:
			return part, outage(err, "get Job %s/%s", cronJob.Namespace, run.Name)
		case found == nil:
			part.Ended = []schedule.Finished{{Run: run, Condition: schedule.JobDeleted}}
		default:
			a.report(&part, cronJob, found)
		}
		return part, nil
	})
	for _, part := range parts {
		result.Ended = append(result.Ended, part.Ended...)
		result.Running = append(result.Running, part.Running...)
		result.Children = append(result.Children, part.Children...)
	}
	return err
}

// searchJobs lists the Jobs that the CronJob controls, not from the watch cache: what was created just now counts.
func (a *Activities) searchJobs(ctx context.Context, cronJob *ostinatov1.CronJob) ([]*batchv1.Job, error) {
	var owned []*batchv1.Job
	err := a.jobSearch.ControlledBy(ctx, a.Kubernetes, cronJob.Namespace, cronJob.UID, func(one *batchv1.Job) {
		if claim.OfCronJob(one, cronJob.Name, cronJob.UID) {
			owned = append(owned, one)
		}
	})
	if err != nil {
		return nil, outage(err, "look for the Jobs of CronJob %s/%s", cronJob.Namespace, cronJob.Name)
	}
	slices.SortFunc(owned, func(a, b *batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return owned[max(len(owned)-maxFound, 0):], nil
}

// maxChildren bounds the Jobs of one result that come with what a Job workflow needs.
const maxChildren = 100

// report adds a Job of the CronJob to the result. The workflow of one that was made by hand is the bridge's to start.
func (a *Activities) report(result *protocol.FindRunsResult, cronJob *ostinatov1.CronJob, found *batchv1.Job) {
	run := a.runOf(cronJob, found)
	if finished := a.finishedJob(found, run); finished != nil {
		result.Ended = append(result.Ended, *finished)
		return
	}
	result.Running = append(result.Running, run)
	_, byHand := found.Annotations[names.InstantiateAnnotation]
	made := !byHand && !k8s.ScheduledTime(found).IsZero()
	if made && claim.Ours(found, a.TakeOverJobs) && len(result.Children) < maxChildren {
		result.Children = append(result.Children, protocol.StartedJob{Run: run, Spec: a.specOf(found), Managed: true})
	}
}

// runOf is the run that a Job of the CronJob says to be. One that has not the name of the time it says was started by hand.
func (a *Activities) runOf(cronJob *ostinatov1.CronJob, found *batchv1.Job) schedule.Run {
	run := schedule.Run{
		Name: found.Name, UID: string(found.UID), ResourceVersion: found.ResourceVersion,
		Started: found.CreationTimestamp.UTC(), Scheduled: k8s.ScheduledTime(found),
	}
	_, byHand := found.Annotations[names.InstantiateAnnotation]
	run.Manual = byHand || run.Scheduled.IsZero() || names.ScheduledJob(cronJob.Name, run.Scheduled) != found.Name
	run.Scheduled = cmp.Or(run.Scheduled, run.Started)
	if run.Manual {
		run.Asked = ledger.Asked{
			By: clip.Text(found.Annotations[names.AskedByAnnotation], maxAnnotation), Changed: clip.Text(found.Annotations[names.ChangedAnnotation], maxAnnotation),
		}
		if user := a.maker(found); user != "" {
			run.User, run.Through = user, ledger.ThroughJob
		}
		if !a.CallerHeader {
			run.Asked = run.Claimed()
		}
	}
	return run
}

// maker returns the user who has made a Job of a CronJob by hand; empty for the workflow's own Jobs, and where admission stamps no users.
func (a *Activities) maker(found *batchv1.Job) string {
	if !a.StampedUsers {
		return ""
	}
	return clip.Text(found.Annotations[names.RunUserAnnotation], maxAnnotation)
}

// finishedJob returns how a run has ended; nil for one that has not.
func (a *Activities) finishedJob(found *batchv1.Job, run schedule.Run) *schedule.Finished {
	condition := claim.Finished(found)
	if condition == nil {
		return nil
	}
	return &schedule.Finished{
		Run: run, Condition: condition.Type, EndTime: condition.LastTransitionTime.UTC(), Reason: condition.Reason, Stopped: a.stopper(found, *condition),
		StartTime:      ptr.Deref(found.Status.StartTime, metav1.Time{}).UTC(),
		CompletionTime: ptr.Deref(found.Status.CompletionTime, metav1.Time{}).UTC(),
		FailedPods:     found.Status.Failed,
	}
}
