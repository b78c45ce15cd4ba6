package activities

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/herd"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// StartRun starts one run. An error means that the API server could not be asked, and that the whole is to be repeated. It
// is a RefusedErrorType error, which Temporal does not repeat by itself, when the delete of a Job that is to be replaced
// was refused, and one of TooEarlyErrorType, to be repeated, when the time of the run is too far away to be waited for.
//
// A run that was to be replaced and has ended is left, and is in the result.
func (a *Activities) StartRun(ctx context.Context, request protocol.StartRunRequest) (result protocol.StartRunResult, err error) {
	if err := validateWrite(request.CronJob, request.Status, request.Events, list{"replace", len(request.Replace), schedule.MaxDeletes}); err != nil {
		return result, err
	}
	// What is further away than a start may wait is given back. What no clock explains is left to be refused.
	if early := a.early(request.Start); early > a.StartLead+maxAhead && early <= maxBehind {
		return result, a.givenBack(givenBackForClock, request.Start, clockRetry)
	}
	cronJob, err := a.plannedStart(ctx, request, &result)
	if err != nil || cronJob == nil {
		return result, err
	}
	// A time that somebody has made up is no herd, and is not waited for.
	member, waited := &herd.Start{}, false
	if why := schedule.Prescribed(cronJob, request.Start, a.Clock.Now()); why == "" {
		if !request.Start.Manual {
			member = a.herds.Join(request.Start.Scheduled, cronJob.Namespace)
			defer member.Leave()
		}
		if waited, err = a.hold(ctx, cronJob.Namespace, request.Start); err != nil {
			return result, err
		}
	}
	stored, isNew, cronJob, err := a.create(ctx, cronJob, request, waited, &result)
	if err != nil || cronJob == nil {
		return result, err
	}
	member.Leave()
	// Where a workflow of the Job may have counted Pods of it, they are not to be made again.
	if stored != nil && stored.Status.StartTime == nil {
		result.Started.Pods = a.firstPods(ctx, stored)
	}
	if ranAndIsGone(result.Started) {
		result.Ended = append(result.Ended, schedule.Finished{Run: result.Started.Run, Condition: schedule.JobDeleted})
	} else if result.Started != nil {
		member.Yield(ctx)
		a.remember(cronJob)
	}
	if isNew {
		a.Events.on(aCronJob(request.CronJob), event.Normal(event.SuccessfulCreate, "Created job "+request.Start.Name))
	}
	a.writeStartedStatus(ctx, cronJob, request, &result)
	a.Events.on(aCronJob(request.CronJob), request.Events...)
	return result, nil
}

// plannedStart returns the CronJob where it is the one that was planned with; nil where the result says that
// it is not. A Job that an earlier attempt has made by the spec before counts: its run has started.
func (a *Activities) plannedStart(ctx context.Context, request protocol.StartRunRequest, result *protocol.StartRunResult) (*ostinatov1.CronJob, error) {
	cronJob, err := a.cronJob(ctx, request.CronJob)
	if err != nil || cronJob == nil {
		result.Gone = err == nil
		return nil, err
	}
	spec := schedule.SpecOf(cronJob)
	if spec.Digest() == request.Digest {
		return cronJob, nil
	}
	found, err := a.jobOf(ctx, cronJob, request.Start.Name, "get Job %s/%s")
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		result.CurrentSpec = &spec
		return nil, nil
	}
	result.Started, result.StatusLeft = a.startedJob(found, request.Start), true
	return nil, a.replace(ctx, cronJob, request, true, result)
}

// jobOf reads the CronJob's Job of a name; nil where there is none, or where it is another's.
func (a *Activities) jobOf(ctx context.Context, cronJob *ostinatov1.CronJob, name, doing string) (*batchv1.Job, error) {
	found, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
		return nil, nil
	case err != nil:
		return nil, outage(err, doing, cronJob.Namespace, name)
	}
	return found, nil
}

// create judges the run, makes room for it, in its turn, and creates its Job, which it returns, unless
// the result says that there is one already or that there is to be none. The CronJob of a start that has
// waited is looked at once more before; nil is returned where it was edited or is gone.
func (a *Activities) create(
	ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.StartRunRequest, waited bool, result *protocol.StartRunResult,
) (stored *batchv1.Job, isNew bool, _ *ostinatov1.CronJob, err error) {
	if !waited {
		if result.Started, result.Refused, err = a.judgeStart(ctx, cronJob, request.Start); err != nil || result.Refused != nil || ranAndIsGone(result.Started) {
			return nil, false, cronJob, err
		}
	}
	leave, err := a.herds.Turn(ctx, cronJob.Namespace)
	if err != nil {
		return nil, false, nil, outage(err, "wait to create Job %s/%s", cronJob.Namespace, request.Start.Name)
	}
	defer leave()
	if waited {
		if cronJob, err = a.lookAgain(ctx, cronJob, request, result); err != nil || cronJob == nil || result.Refused != nil || ranAndIsGone(result.Started) {
			return nil, false, cronJob, err
		}
	}
	if err = a.replace(ctx, cronJob, request, false, result); err != nil || result.Started != nil {
		return nil, false, cronJob, err
	}
	if stored, isNew, result.Refused, err = a.startJob(ctx, cronJob, request.Start); stored != nil {
		result.Started = a.startedJob(stored, request.Start)
	}
	return stored, isNew, cronJob, err
}

// writeStartedStatus writes the status with the run in it. It is left as it is where it says otherwise than
// what was found, and is to be planned anew.
func (a *Activities) writeStartedStatus(ctx context.Context, cronJob *ostinatov1.CronJob, request protocol.StartRunRequest, result *protocol.StartRunResult) {
	switch {
	case request.Status == nil || result.Started == nil:
		return
	case len(result.Ended) > 0:
		result.StatusLeft = true
		return
	}
	status := schedule.StatusStarted(*request.Status, result.Started.Run, cronJob.Namespace)
	status = schedule.StatusRecorded(status, request.Start, result.Started.Run)
	written := a.applyCronJobStatus(ctx, cronJob, live, request.Digest, status)
	if result.StatusFailed = written.StatusFailed; written.Gone {
		*result = protocol.StartRunResult{Gone: true}
	}
}

// judgeStart says why the run may not be started for the CronJob as it now is, whatever
// a plan says, before anything is deleted for it; neither is set when it may. The run has started
// if an earlier attempt has made its Job, or if the status says so and the Job is gone since.
func (a *Activities) judgeStart(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.StartedJob, *protocol.Refusal, error) {
	refused, err := a.refuseStart(ctx, cronJob, start)
	last := schedule.LastScheduleTime(cronJob, a.Clock.Now())
	ran := !start.Manual && last != nil && !start.Scheduled.After(last.Time)
	if refused == nil && !ran || err != nil {
		return nil, nil, err
	}
	found, err := a.jobOf(ctx, cronJob, start.Name, "get Job %s/%s")
	switch {
	case err != nil:
		return nil, nil, err
	case found != nil:
		return a.startedJob(found, start), nil, nil
	case ran:
		return &protocol.StartedJob{Run: schedule.Run{Name: start.Name, Scheduled: start.Scheduled, Started: start.Scheduled}}, nil, nil
	}
	return nil, refused, nil
}

// ranAndIsGone reports whether a run has started whose Job is gone since.
func ranAndIsGone(started *protocol.StartedJob) bool { return started != nil && started.Run.UID == "" }

func (a *Activities) refuseStart(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.Refusal, error) {
	if why := schedule.Prescribed(cronJob, start, a.Clock.Now()); why != "" {
		return refuse(ledger.NotPrescribed, "%s", why), nil
	}
	if refused := a.refuseManual(cronJob, start); refused != nil {
		a.Events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.SignalRefused, refused.Message))
		return refused, nil
	}
	if start.IsTooLate(schedule.SpecOf(cronJob), a.Clock.Now()) {
		return refuse(ledger.TooLate, "it is too late for the run of %s", start.Scheduled.UTC().Format(time.RFC3339)), nil
	}
	return a.refuseBeside(ctx, cronJob, start)
}

// refuseBeside says why the run may not start beside the runs that are active by the
// CronJob's status, where that bounds their number.
func (a *Activities) refuseBeside(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (*protocol.Refusal, error) {
	spec := start.Under(schedule.SpecOf(cronJob))
	policy, capacity := spec.ConcurrencyPolicy, spec.Capacity()
	if capacity == 0 || policy == batchv1.ReplaceConcurrent || len(cronJob.Status.Active) < capacity {
		return nil, nil
	}
	var running []string
	for _, active := range cronJob.Status.Active {
		if active.Name == start.Name {
			continue
		}
		found, err := a.controlledJob(ctx, cronJob, active.Name, string(active.UID), live)
		if err != nil {
			return nil, outage(err, "get Job %s/%s", cronJob.Namespace, active.Name)
		}
		if found != nil && claim.Finished(found) == nil {
			running = append(running, active.Name)
		}
		if len(running) == capacity {
			return refuse(ledger.NotPrescribed, "Job %s runs, and concurrencyPolicy is %s", running[0], policy), nil
		}
	}
	return nil, nil
}

// refuseManual says why the CronJob does not take the signal that asked for the run; nil when it does, and for a scheduled run.
func (a *Activities) refuseManual(cronJob *ostinatov1.CronJob, start schedule.Start) *protocol.Refusal {
	if !start.Manual {
		return nil
	}
	signal := steering.Trigger
	if start.Backfill != 0 {
		signal = steering.Backfill
	}
	return a.refuseSignal(cronJob.Annotations, signal)
}

// startJob creates the run's Job or finds it made by an earlier attempt. It leaves the Event of a new one to the caller.
func (a *Activities) startJob(ctx context.Context, cronJob *ostinatov1.CronJob, start schedule.Start) (stored *batchv1.Job, isNew bool, _ *protocol.Refusal, _ error) {
	wanted := k8s.RenderJob(cronJob, start, a.jobWorkflow(cronJob.Namespace, start.Name))
	// A Job's name keeps it from being made twice only as long as it is there.
	owned, release, err := owned(ctx)
	if err != nil {
		return nil, false, nil, err
	}
	defer release()
	created, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Create(owned, wanted, metav1.CreateOptions{})
	switch {
	case err == nil:
		if !start.Manual {
			a.Metrics.creationSkew.Observe(created.CreationTimestamp.Sub(start.Scheduled).Seconds())
		}
		return created, true, nil, nil
	case apierrors.IsAlreadyExists(err):
		found, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, start.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return nil, false, nil, outage(err, "get Job %s/%s, whose name is taken", cronJob.Namespace, start.Name)
		case claim.OfCronJob(found, cronJob.Name, cronJob.UID):
			return found, false, nil, nil
		}
		refused := refuse(ledger.ForeignObject, "Job %q exists and is not controlled by CronJob %q", start.Name, cronJob.Name)
		a.Metrics.countRefusal("Job", refused)
		a.Events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.FailedCreate, "Error creating job: "+refused.Message))
		return nil, false, refused, nil
	}
	refused := refusal(err)
	if refused != nil {
		// Admission judges before the name is looked at, and the Job that an earlier attempt has made may have used up the quota.
		if found, err := a.jobOf(ctx, cronJob, start.Name, "get Job %s/%s, which was refused"); found != nil || err != nil {
			return found, false, nil, err
		}
	}
	if answered(err) && (refused == nil || refused.Reason != ledger.NamespaceTerminating) {
		a.Events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.FailedCreate, fmt.Sprintf("Error creating job: %v", err)))
	}
	if refused != nil {
		a.Metrics.countRefusal("Job", refused)
		return nil, false, refused, nil
	}
	return nil, false, nil, outage(err, "create Job %s/%s", cronJob.Namespace, start.Name)
}

func (a *Activities) startedJob(stored *batchv1.Job, start schedule.Start) *protocol.StartedJob {
	return &protocol.StartedJob{
		Run: schedule.Run{
			Name: stored.Name, UID: string(stored.UID), ResourceVersion: stored.ResourceVersion, Started: stored.CreationTimestamp.UTC(),
			Scheduled: start.Scheduled, Manual: start.Manual, Backfill: start.Backfill,
		},
		Spec:    a.specOf(stored),
		Managed: claim.Ours(stored, a.TakeOverJobs),
	}
}
