package activities

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// WriteStatus writes the status of a CronJob, with a judgement of its template where that is asked for,
// and prunes its history: the status goes first, so that the history is pruned by the limits of the
// CronJob as it is. An error means that the API server could not be asked, and that the whole is to be
// repeated. That the status can't be written is no error: it is part of the result, and tried again later.
func (a *Activities) WriteStatus(ctx context.Context, request protocol.WriteStatusRequest) (result protocol.WriteStatusResult, err error) {
	if err := validateWrite(request.CronJob, request.Basis, request.Status, request.Events, list{"prune", len(request.Prune), schedule.MaxPruned}); err != nil {
		return result, err
	}
	planned := plannedWith{request.CronJob, request.Digest, request.Basis, request.Suspender}
	cronJob, changed, err := a.plannedCronJob(ctx, planned, request)
	if err != nil || cronJob == nil {
		return protocol.WriteStatusResult{Answer: changed}, err
	}
	if request.Judge {
		result.Judgement = a.judgeTemplate(ctx, cronJob, request.Status)
	}
	if request.Status != nil {
		status := *request.Status
		if result.Judgement != nil {
			status = schedule.StatusJudged(status, *result.Judgement)
		}
		status.PlanDigest = schedule.PlanDigest(request.Status, nil)
		written := a.applyCronJobStatus(ctx, cronJob, planned, status)
		if written.Answer != (protocol.Answer{}) {
			return written, nil
		}
		result.StatusFailed, result.Revision, result.Suspender = written.StatusFailed, written.Revision, written.Suspender
	}
	if result.StatusFailed != "" && len(request.Prune) > 0 {
		// No write has guarded what was read.
		if cronJob, changed, err = a.unedited(ctx, planned, ""); err != nil || cronJob == nil {
			return protocol.WriteStatusResult{Answer: changed}, err
		}
	}
	result.Pruned = a.prune(ctx, cronJob, request)
	a.Events.on(aCronJob(request.CronJob), request.Events...)
	if judged := result.Judgement; judged != nil && judged.Refusal != "" {
		a.Events.on(aCronJob(request.CronJob), event.Warning(event.InvalidTemplate, "The Job of the next run would be refused: "+judged.Refusal))
	}
	return result, nil
}

// validateWrite refuses a basis, a status, Events and a number of deletes that no plan has.
func validateWrite(cronJob protocol.ObjectReference, basis schedule.Basis, status *ostinatov1.CronJobStatus, events []event.Event, deletes list) error {
	return invalidRequest(cmp.Or(bounded(deletes, list{"events", len(events), event.MaxPerRequest}), basis.Validate(),
		errors.Join(event.Validate(events), schedule.ValidateStatus(ptr.Deref(status, ostinatov1.CronJobStatus{}), cronJob.Namespace))))
}

// plannedWith is the CronJob that a request was planned with: its spec, its status, and who has suspended it.
type plannedWith struct {
	cronJob   protocol.ObjectReference
	digest    string
	basis     schedule.Basis
	suspender schedule.Suspender
}

// plannedCronJob returns the CronJob of a request as it is remembered, or as the watch cache has it, and reads it live where
// neither is what was planned for; nil where the result says what it is instead. A remembered one has no template.
//
// The API server refuses a write of the status if the CronJob was written since it was read, so no live read comes before. A
// dry run leaves nothing behind, and the template that it tries is that of the generation which was planned for.
func (a *Activities) plannedCronJob(
	ctx context.Context, planned plannedWith, request protocol.WriteStatusRequest,
) (*ostinatov1.CronJob, protocol.Answer, error) {
	reference := planned.cronJob
	if request.Status != nil {
		if known, ok := a.cronJobCache.Get(knownCronJob{reference, planned.digest}); ok && !request.Judge {
			remembered := known.(*ostinatov1.CronJob)
			was, is := schedule.SuspendedSince(remembered.Status), schedule.SuspendedSince(*request.Status)
			// It does not tell who has suspended or resumed it since.
			if !planned.basis.Overtakes(remembered.Status) && was.Equal(&is) {
				return remembered, protocol.Answer{}, nil
			}
		}
		glance, err := a.cronJobs(reference.Native).Get(ctx, reference.Namespace, reference.Name, k8s.FromCache)
		if err == nil && string(glance.UID) == reference.UID && schedule.SpecOf(glance).Digest() == planned.digest && !planned.basis.Overtakes(glance.Status) {
			return glance, protocol.Answer{}, nil
		}
	}
	return a.unedited(ctx, planned, schedule.PlanDigest(request.Status, nil))
}

// unedited reads the CronJob live. It is nil if the answer says that it is gone, that its spec has changed since the plan, or
// that its status is later than the plan's and was not written for the plan with the digest.
func (a *Activities) unedited(ctx context.Context, planned plannedWith, planDigest string) (_ *ostinatov1.CronJob, changed protocol.Answer, err error) {
	cronJob, err := a.cronJob(ctx, planned.cronJob)
	if err != nil || cronJob == nil {
		changed.Gone = err == nil
		return nil, changed, err
	}
	if changed.Overtaken = planned.basis.Overtakes(cronJob.Status) && !planned.basis.Wrote(cronJob.Status, planDigest); changed.Overtaken {
		return nil, changed, nil
	}
	if spec := schedule.SpecOf(cronJob); spec.Digest() != planned.digest {
		changed.CurrentSpec = &spec
		return nil, changed, nil
	}
	return cronJob, changed, nil
}

// applyCronJobStatus writes the status in the namespace's turn. The result says why it did not.
func (a *Activities) applyCronJobStatus(
	ctx context.Context, cronJob *ostinatov1.CronJob, planned plannedWith, status ostinatov1.CronJobStatus,
) (result protocol.WriteStatusResult) {
	status.Workflow = &ostinatov1.WorkflowReference{
		Namespace: a.Namespace,
		ID:        cronJobReference(cronJob).CronJobWorkflowID(a.Cluster),
	}
	if why := schedule.StatusAhead(status, cronJob.Status, a.Clock.Now()); why != "" {
		a.Metrics.requestsRefused.WithLabelValues(protocol.WriteStatusActivity, ledger.NotPrescribed).Inc()
		return notWritten(ctx, cronJob, errors.New(why))
	}
	// An attempt that was given up would write what is over.
	ctx, release, err := owned(ctx)
	if err != nil {
		return protocol.WriteStatusResult{StatusFailed: clip.Message(err.Error())}
	}
	defer release()
	ctx, cancel := leavingTime(ctx)
	defer cancel()
	result, err = a.writeCronJobStatus(ctx, cronJob, planned, &status)
	switch {
	case err == nil:
		return result
	case errors.Is(err, k8s.ErrGone):
		return protocol.WriteStatusResult{Answer: protocol.Answer{Gone: true}}
	}
	if answered(err) {
		a.Events.on(aCronJob(cronJobReference(cronJob)), event.Warning(event.FailedUpdateStatus, "Error updating status: "+err.Error()))
	}
	if refused := refusal(err); refused != nil {
		a.Metrics.countRefusal("CronJobStatus", refused)
	}
	return notWritten(ctx, cronJob, err)
}

// notWritten is the result of a write of the status that failed, and is to be repeated.
func notWritten(ctx context.Context, cronJob *ostinatov1.CronJob, err error) protocol.WriteStatusResult {
	activity.GetLogger(ctx).Error("CronJob status not written", "namespace", cronJob.Namespace, "cronjob", cronJob.Name, "error", err)
	return protocol.WriteStatusResult{StatusFailed: clip.Message(err.Error())}
}

// maxStatusTries bounds how often a status is written to a CronJob that others write to meanwhile.
const maxStatusTries = 5

// writeCronJobStatus writes the status as the CronJob's next revision, unless the spec or the status has changed since the
// plan. A turn that comes too late writes nothing: the API server would give that write up, at the same cost.
func (a *Activities) writeCronJobStatus(
	ctx context.Context, cronJob *ostinatov1.CronJob, planned plannedWith, status *ostinatov1.CronJobStatus,
) (result protocol.WriteStatusResult, err error) {
	waiting, cancel := leavingTime(ctx)
	defer cancel()
	leave, err := a.statusWrites.Take(waiting, cronJob.Namespace)
	if err != nil {
		return result, err
	}
	defer leave()
	store := a.cronJobs(k8s.IsNative(cronJob))
	for try := 1; ; try++ {
		a.cronJobCache.Remove(knownCronJob{planned.cronJob, planned.digest})
		if planned.basis.Wrote(cronJob.Status, status.PlanDigest) {
			result.Revision, result.Suspender = cronJob.Status.Revision, schedule.SuspenderIn(cronJob.Status)
			return result, nil
		}
		status.Revision = planned.basis.Next(cronJob.Status)
		stored, err := store.WriteStatus(ctx, cronJob, a.naming(cronJob, planned, *status))
		if err == nil {
			result.Suspender = a.tellSuspension(cronJob, stored)
			if len(status.Active) > 0 {
				a.remember(stored)
			}
			result.Revision = status.Revision
			return result, nil
		}
		if !apierrors.IsConflict(err) || try == maxStatusTries {
			return result, err
		}
		if cronJob, result.Answer, err = a.unedited(ctx, planned, status.PlanDigest); err != nil || cronJob == nil {
			return result, err
		}
	}
}

// naming returns the status with who has suspended the CronJob, by the object. What the request says about people is believed only if
// none of them could have written it.
func (a *Activities) naming(cronJob *ostinatov1.CronJob, planned plannedWith, status ostinatov1.CronJobStatus) *ostinatov1.CronJobStatus {
	who := k8s.SuspenderOf(cronJob, a.StampedUsers)
	if a.CallerHeader {
		who = who.Known(planned.suspender)
	} else {
		status = schedule.StatusClaimed(status)
	}
	return new(schedule.StatusSuspendedBy(status, cronJob.Status, who))
}

// tellSuspension emits an Event when a status is the first to say that the CronJob is suspended, or is no more, and by whom, as the object
// tells. What a signal has done has its own Event, and so has what failures have. It returns who that was, or who has suspended a CronJob
// that still is.
func (a *Activities) tellSuspension(cronJob, stored *ostinatov1.CronJob) string {
	was, is := schedule.SuspendedSince(cronJob.Status), schedule.SuspendedSince(stored.Status)
	if was.Equal(&is) {
		return schedule.SuspenderIn(stored.Status)
	}
	who := k8s.SuspenderOf(cronJob, a.StampedUsers)
	said := cmp.Or(schedule.SuspenderIn(stored.Status), who.String())
	told := event.Normal("Suspended", strings.TrimSpace("Suspended "+who.String()))
	if is.IsZero() {
		said = who.String()
		told = event.Normal("Resumed", strings.TrimSpace("Resumed "+said))
	}
	if who.Through != ledger.ThroughSignal {
		a.Events.on(aCronJob(cronJobReference(cronJob)), told)
	}
	return said
}

// userOf returns the user that a signal's or update's header names; empty if the worker does not believe it.
func (a *Activities) userOf(caller string) string {
	if !a.CallerHeader {
		return ""
	}
	return caller
}

// statusTimeout bounds the write of a status in an attempt that may take long: what has been started is to be told.
const statusTimeout = 30 * time.Second

// leavingTime leaves time for what comes after, as for a report that a request was not
// answered: a second, or half of what there is.
func leavingTime(ctx context.Context) (context.Context, context.CancelFunc) {
	left := statusTimeout
	if deadline, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	return context.WithTimeout(ctx, max(left/2, left-time.Second))
}

func cronJobReference(cronJob *ostinatov1.CronJob) protocol.ObjectReference {
	return protocol.ObjectReference{
		Namespace: cronJob.Namespace, Name: cronJob.Name, UID: string(cronJob.UID), Native: k8s.IsNative(cronJob),
	}
}

// maxKnownCronJobs bounds the CronJobs that are remembered.
const maxKnownCronJobs = 4096

// knownCronJob is a CronJob whose spec has the digest.
type knownCronJob struct {
	protocol.ObjectReference
	digest string
}

// remember keeps what this process has read or written last of a CronJob with a run under way. It takes the place of a read
// before a write that the API server refuses if the object has changed since; nothing else may rest on it.
// It has what a write of the status needs: identity, resourceVersion, conditions and times. Spec and annotations may be large.
func (a *Activities) remember(cronJob *ostinatov1.CronJob) {
	a.cronJobCache.Add(knownCronJob{cronJobReference(cronJob), schedule.SpecOf(cronJob).Digest()}, &ostinatov1.CronJob{
		TypeMeta: cronJob.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cronJob.Namespace, Name: cronJob.Name, UID: cronJob.UID, ResourceVersion: cronJob.ResourceVersion,
		},
		Status: ostinatov1.CronJobStatus{
			Conditions: cronJob.Status.Conditions, LastScheduleTime: cronJob.Status.LastScheduleTime, AccountedUntil: cronJob.Status.AccountedUntil,
			Revision: cronJob.Status.Revision, PlanDigest: cronJob.Status.PlanDigest,
		},
	})
}

// judgePatience bounds a dry run: a webhook that does not answer must not hold up the status.
const judgePatience = 2 * time.Second

// judgeTemplate asks the API server, without effect, for the Job of the next run. It
// answers Unknown where what it hears is not about the template.
func (a *Activities) judgeTemplate(ctx context.Context, cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) *schedule.Judgement {
	if cronJob.DeletionTimestamp != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, judgePatience)
	defer cancel()
	now := a.Clock.Now().UTC()
	judgement := &schedule.Judgement{Generation: cronJob.Generation, At: now}
	scheduled := now.Truncate(time.Minute)
	if status != nil && status.NextScheduleTime != nil {
		scheduled = status.NextScheduleTime.Time
	}
	start := schedule.Start{Name: names.ScheduledJob(cronJob.Name, scheduled), Scheduled: scheduled}
	wanted := k8s.RenderJob(cronJob, start, a.jobWorkflow(cronJob.Namespace, start.Name))
	_, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Create(ctx, wanted, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch refused := refusal(err); {
	// The API server checks a quota last, and it says how many Jobs there are now.
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
	// A terminating namespace and a webhook without dry runs don't say whether the Job would be refused at its time too.
	case refused == nil, refused.Reason == ledger.NamespaceTerminating, strings.Contains(err.Error(), "does not support dry run"):
		judgement.Unknown = true
	default:
		judgement.Refusal = clip.Message(err.Error())
	}
	return judgement
}
