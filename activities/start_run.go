package activities

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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

// StartRun starts one run, or with Find looks for its Job. What the API server answers is in the result; an error means that it
// has not answered, and that the whole is to be repeated. One of TooEarlyErrorType, to be repeated too, says that the time of
// the run is too far away to be waited for. An attempt that is cancelled sends no create, or ends with the answer to it.
//
// A run that was to be replaced and has ended is left, and is in the result.
func (a *Activities) StartRun(ctx context.Context, request protocol.StartRunRequest) (protocol.StartRunResult, error) {
	if err := validateWrite(request.CronJob, request.Basis, request.Status, request.Events, list{"replace", len(request.Replace), schedule.MaxDeletes}); err != nil {
		return protocol.StartRunResult{}, err
	}
	// What is further away than a start may wait is given back. What no clock explains is left to be refused.
	if early := a.early(request.Start); early > a.StartLead+maxAhead && early <= maxBehind {
		return protocol.StartRunResult{}, a.givenBack(givenBackForClock, request.Start, clockRetry)
	}
	// A look for the Job sends no create.
	repeated := activity.GetInfo(ctx).Attempt > 1 && !request.Find
	s := &startAttempt{
		Activities: a, request: request, planned: plannedWith{request.CronJob, request.Digest, request.Basis, request.Suspender}, sent: repeated,
	}
	s.result.User = a.userOf(request.Start.Caller)
	err := s.start(ctx)
	application, _ := errors.AsType[*temporal.ApplicationError](err)
	if application != nil && application.Type() == RefusedErrorType {
		err = s.refusedToReplace(ctx, application.Message())
		application, _ = errors.AsType[*temporal.ApplicationError](err)
	}
	switch {
	case err == nil:
	case application != nil && application.Type() == KubernetesAnswerErrorType:
		s.result.Unclear = application.Message()
	case ctx.Err() != nil && !stopping(ctx):
		s.result.GaveUp, s.result.Unsent = true, !s.sent
		return s.result, nil
	default:
		return s.result, err
	}
	s.result.Unsent = s.result.Unclear != "" && !s.sent
	s.result.Sent = repeated && !s.result.Gone
	if s.result.Started != nil || s.result.Refused != nil || s.result.Unclear != "" || s.result.Missing {
		a.Events.on(aCronJob(request.CronJob), request.Events...)
	}
	return s.result, nil
}

// stopping reports whether the worker of the attempt shuts down.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// startAttempt is an attempt to start a run.
type startAttempt struct {
	*Activities
	request protocol.StartRunRequest
	planned plannedWith
	// object is the CronJob as it was read last; nil if the result says that it has changed since the plan.
	object *ostinatov1.CronJob
	result protocol.StartRunResult
	// sent says that this attempt or an earlier one may have sent a create.
	sent bool
}

// answered reports whether the result says what has become of the run, or that it is to be planned anew.
func (s *startAttempt) answered() bool {
	return s.object == nil || s.result.Started != nil || s.result.Refused != nil || s.result.Missing
}

func (s *startAttempt) start(ctx context.Context) error {
	if err := s.read(ctx); err != nil || s.answered() {
		return err
	}
	if s.request.Find {
		return s.find(ctx)
	}
	// A time that was made up is no herd, and is not waited for.
	member := &herd.Start{}
	if why := schedule.Prescribed(s.object, s.request.Start, s.Clock.Now()); why == "" {
		if !s.request.Start.Manual {
			member = s.herds.Join(s.request.Start.Scheduled, s.object.Namespace)
			defer member.Leave()
		}
		if err := s.hold(ctx, s.object.Namespace, s.request.Start); err != nil {
			return err
		}
	}
	stored, isNew, err := s.create(ctx)
	if err != nil || s.object == nil {
		return err
	}
	member.Leave()
	// Where a workflow of the Job may have counted Pods of it, they are not to be made again.
	if stored != nil && stored.Status.StartTime == nil {
		s.result.Started.Pods, s.result.Started.Late = s.firstPods(ctx, stored)
	}
	if s.result.Started != nil {
		member.Yield(ctx)
		s.remember(s.object)
	}
	if isNew {
		s.Events.on(aCronJob(s.request.CronJob), event.Normal(event.SuccessfulCreate, "Created job "+s.request.Start.Name))
	}
	s.writeStatus(ctx)
	return nil
}

// planDigest identifies the status that is written with the run; it is empty where none is.
func (s *startAttempt) planDigest() string {
	return schedule.PlanDigest(s.request.Status, &s.request.Start)
}

// read reads the CronJob, and compares it with the plan. A Job that an earlier attempt has made counts
// whatever has changed since: its run has started.
func (s *startAttempt) read(ctx context.Context) error {
	cronJob, err := s.cronJob(ctx, s.request.CronJob)
	if err != nil || cronJob == nil {
		s.result.Gone = err == nil
		return err
	}
	spec := schedule.SpecOf(cronJob)
	wrote := s.request.Basis.Wrote(cronJob.Status, s.planDigest())
	s.result.Overtaken = s.request.Basis.Overtakes(cronJob.Status) && !wrote
	if edited := spec.Digest() != s.request.Digest; s.result.Overtaken || !edited && !wrote {
		if !s.result.Overtaken {
			s.object = cronJob
		}
		return nil
	}
	made, err := s.made(ctx, cronJob, wrote)
	if err != nil {
		return err
	}
	if !made {
		s.result.CurrentSpec = &spec
		return nil
	}
	s.result.StatusLeft = true
	if wrote {
		s.result.Revision = cronJob.Status.Revision
	}
	return s.replace(ctx, cronJob, true)
}

// startedBefore takes it from the status, which an earlier attempt has written, that the run has started. Its Job is gone since.
func (s *startAttempt) startedBefore(cronJob *ostinatov1.CronJob) {
	start := s.request.Start
	run := schedule.Run{Name: start.Name, Scheduled: start.Scheduled, Manual: start.Manual, Backfill: start.Backfill, Started: start.Scheduled}
	for _, active := range cronJob.Status.Active {
		if active.Name == start.Name {
			run.UID, run.ResourceVersion = string(active.UID), active.ResourceVersion
		}
	}
	s.result.Started = &protocol.StartedJob{Run: run}
	s.result.Ended = []schedule.Finished{{Run: run, Condition: schedule.JobDeleted}}
}

// find looks for the Job of an earlier request.
func (s *startAttempt) find(ctx context.Context) error {
	made, err := s.made(ctx, s.object, false)
	s.result.Missing, s.result.StatusLeft = err == nil && !made, made
	return err
}

// made reports whether an earlier attempt has made the Job of the run. told says that the status has the run: its Job may be gone.
func (s *startAttempt) made(ctx context.Context, cronJob *ostinatov1.CronJob, told bool) (bool, error) {
	found, err := s.job(ctx, cronJob)
	switch {
	case err != nil:
		return false, err
	case found != nil && !s.byHand(found):
		s.result.Started = s.started(found)
	case told && (found == nil || !lists(cronJob.Status, found.UID)):
		s.startedBefore(cronJob)
	}
	return s.result.Started != nil, nil
}

// lists reports whether the Job is one of the status' active runs.
func lists(status ostinatov1.CronJobStatus, job types.UID) bool {
	return slices.ContainsFunc(status.Active, func(active corev1.ObjectReference) bool { return active.UID == job })
}

// job reads the CronJob's Job with the name of the run; nil where there is none, or where it is another's.
func (s *startAttempt) job(ctx context.Context, cronJob *ostinatov1.CronJob) (*batchv1.Job, error) {
	name := s.request.Start.Name
	found, err := s.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && !claim.OfCronJob(found, cronJob.Name, cronJob.UID):
		return nil, nil
	case err != nil:
		return nil, outage(err, "get Job %s/%s", cronJob.Namespace, name)
	}
	return found, nil
}

// turnPatience bounds how long an attempt waits for its turn to create: it has a place among the worker's activities meanwhile.
const turnPatience = 10 * time.Second

// create takes its turn, looks at the CronJob, judges the run by it, makes room for it and creates its Job, which it returns,
// unless the result says that there is one already or that there is to be none.
func (s *startAttempt) create(ctx context.Context) (stored *batchv1.Job, isNew bool, err error) {
	waiting, cancel := context.WithTimeout(ctx, turnPatience)
	leave, err := s.herds.Turn(waiting, s.object.Namespace)
	cancel()
	if err != nil {
		if ctx.Err() == nil {
			return nil, false, s.givenBack(givenBackForRoom, s.request.Start, time.Second)
		}
		return nil, false, outage(err, "wait to create Job %s/%s", s.object.Namespace, s.request.Start.Name)
	}
	defer leave()
	if err := s.lookAgain(ctx); err != nil || s.answered() {
		return nil, false, err
	}
	if err := s.replace(ctx, s.object, false); err != nil {
		return nil, false, err
	}
	if stored, isNew, err = s.createJob(ctx); stored != nil {
		s.result.Started = s.started(stored)
	}
	return stored, isNew, err
}

// lookAgain looks at the CronJob now that the time of the run and its turn have come, and judges the start.
func (s *startAttempt) lookAgain(ctx context.Context) error {
	reference := s.request.CronJob
	glance, err := s.cronJobs(reference.Native).Get(ctx, reference.Namespace, reference.Name, k8s.FromCache)
	if err != nil && !apierrors.IsNotFound(err) {
		return outage(err, "get CronJob %s/%s", reference.Namespace, reference.Name)
	}
	if err != nil || glance.UID != s.object.UID || glance.ResourceVersion != s.object.ResourceVersion || glance.Generation != s.object.Generation {
		// The watch cache of another API server may be behind: only a live read tells.
		s.object, s.result.Answer, err = s.unedited(ctx, s.planned, "")
		if err != nil || s.object == nil {
			return err
		}
	}
	return s.judge(ctx)
}

// leastStatusTime is what the write of a status has where another run is due.
const leastStatusTime = time.Second

// writeStatus writes the status with the run in it. It is left as it is where it says otherwise than
// what was found, and is to be planned anew.
func (s *startAttempt) writeStatus(ctx context.Context) {
	switch {
	case s.request.Status == nil || s.result.Started == nil:
		return
	case len(s.result.Ended) > 0:
		s.result.StatusLeft = true
		return
	}
	status := schedule.StatusStarted(*s.request.Status, s.result.Started.Run, s.object.Namespace)
	start := s.request.Start
	start.User = cmp.Or(s.result.User, start.User)
	status = schedule.StatusRecorded(status, start, s.result.Started.Run)
	status.PlanDigest = s.planDigest()
	if until := s.request.StatusUntil; !until.IsZero() {
		bounded, cancel := context.WithTimeout(ctx, max(until.Sub(s.Clock.Now()), leastStatusTime))
		defer cancel()
		ctx = bounded
	}
	written := s.applyCronJobStatus(ctx, s.object, s.planned, status)
	s.result.StatusFailed, s.result.Revision, s.result.Suspender = written.StatusFailed, written.Revision, written.Suspender
	s.result.StatusLeft = written.CurrentSpec != nil || written.Overtaken
	if written.Gone {
		s.result = protocol.StartRunResult{Answer: written.Answer}
	}
}

// refusedToReplace refuses the run because the delete of a Job that it replaces was refused. The run has started if an earlier
// attempt has made its Job.
func (s *startAttempt) refusedToReplace(ctx context.Context, message string) error {
	made, err := s.made(ctx, s.object, false)
	if err == nil && !made {
		s.result.Refused = refuse(ledger.RefusedOtherwise, "%s", message)
	}
	s.result.StatusLeft = made
	return err
}

// judge says why the run may not be started for the CronJob as it now is, whatever a plan says, before anything is deleted for
// it. The run has started if an earlier attempt has made its Job.
func (s *startAttempt) judge(ctx context.Context) error {
	inStatus := slices.ContainsFunc(s.object.Status.Active, func(active corev1.ObjectReference) bool { return active.Name == s.request.Start.Name })
	refused, err := s.refuseStart(ctx)
	if err != nil || refused == nil && !inStatus {
		return err
	}
	made, err := s.made(ctx, s.object, inStatus)
	if err != nil {
		return err
	}
	if made {
		return s.replace(ctx, s.object, true)
	}
	s.result.Refused = refused
	return nil
}

func (s *startAttempt) refuseStart(ctx context.Context) (*protocol.Refusal, error) {
	cronJob, start := s.object, s.request.Start
	if why := schedule.Prescribed(cronJob, start, s.Clock.Now()); why != "" {
		return refuse(ledger.NotPrescribed, "%s", why), nil
	}
	if refused := s.refuseManual(cronJob, start); refused != nil {
		s.Events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.SignalRefused, refused.Message))
		return refused, nil
	}
	if start.IsTooLate(schedule.SpecOf(cronJob), s.Clock.Now()) {
		return refuse(ledger.TooLate, "it is too late for the run of %s", start.Scheduled.UTC().Format(time.RFC3339)), nil
	}
	return s.refuseBeside(ctx)
}

// refuseBeside says why the run may not start beside the runs that are active by the
// CronJob's status, where that bounds their number.
func (s *startAttempt) refuseBeside(ctx context.Context) (*protocol.Refusal, error) {
	cronJob, start := s.object, s.request.Start
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
		found, err := s.controlledJob(ctx, cronJob, active.Name, string(active.UID), live)
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

// started is the run with its Job.
func (s *startAttempt) started(stored *batchv1.Job) *protocol.StartedJob {
	start := s.request.Start
	return &protocol.StartedJob{
		Run: schedule.Run{
			Name: stored.Name, UID: string(stored.UID), ResourceVersion: stored.ResourceVersion, Started: stored.CreationTimestamp.UTC(),
			Scheduled: start.Scheduled, Manual: start.Manual, Backfill: start.Backfill,
		},
		Spec:    s.specOf(stored),
		Managed: claim.Ours(stored, s.TakeOverJobs),
	}
}
