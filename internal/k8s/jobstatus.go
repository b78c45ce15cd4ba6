package k8s

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batchac "k8s.io/client-go/applyconfigurations/batch/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"

	"ostinato.dev/ostinato/internal/names"
)

// Field managers of Ostinato's status writes.
const (
	JobFieldManager      = "ostinato-job-controller"
	CronJobFieldManager  = "ostinato-cronjob-controller"
	PodWatchFieldManager = "ostinato-pod-watch"
)

// ErrGone says that the object to be written no longer exists, or that another
// object has its name now.
var ErrGone = errors.New("object is gone")

// applyAttempts bounds how often a status is merged anew with what another
// writer has put into it in the meantime.
const applyAttempts = 5

// ApplyJobStatus makes status the Job's status by server-side apply and returns
// the Job as stored. job is the Job as just read: its UID guards against a
// re-created Job, and its conditions of types that are not the Job controller's
// are kept. A nil Ready leaves readiness to PodWatch. The list of conditions is
// atomic, so the write carries the resourceVersion it was merged with; when another
// writer came first, the Job is read again.
//
// counted are the UIDs of Pods that the status counts and that still carry the tracking
// finalizer; they are noted on the Job in the same request (names.CountedAnnotation).
//
// before is the Job that the write was merged with. Errors are ErrGone or the
// API server's, a conflict included when other writers persist.
func ApplyJobStatus(ctx context.Context, client kubernetes.Interface, job *batchv1.Job, status *batchv1.JobStatus, counted []string) (before, after *batchv1.Job, err error) {
	jobs := client.BatchV1().Jobs(job.Namespace)
	options := metav1.ApplyOptions{FieldManager: JobFieldManager, Force: true}
	before = job
	for attempt := 1; ; attempt++ {
		if removal := residue(&before.Status, status); len(removal) > 0 {
			after, err = replaceStatus(ctx, jobs, before, status, counted, removal)
		} else {
			after, err = jobs.ApplyStatus(ctx, jobStatusConfiguration(before, status, counted), options)
		}
		switch {
		case err == nil:
			return before, after, nil
		case apierrors.IsNotFound(err):
			return nil, nil, ErrGone
		case !apierrors.IsConflict(err) || attempt == applyAttempts:
			return nil, nil, err
		}
		if before, err = GetJob(ctx, client, job.Namespace, job.Name, job.UID); err != nil {
			return nil, nil, err
		}
	}
}

// GetJob reads a Job; the error is ErrGone when it does not exist or has another UID.
func GetJob(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID) (*batchv1.Job, error) {
	job, err := client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, ErrGone
	case err != nil:
		return nil, err
	case job.UID != uid:
		return nil, ErrGone
	}
	return job, nil
}

// jobStatusConfiguration is the apply configuration of a Job's whole status.
// Counters are written even when they are zero, and uncountedTerminatedPods even
// when empty, as upstream leaves them (parity 2.11).
func jobStatusConfiguration(job *batchv1.Job, status *batchv1.JobStatus, counted []string) *batchac.JobApplyConfiguration {
	uncounted := batchac.UncountedTerminatedPods()
	if status.UncountedTerminatedPods != nil {
		uncounted.WithSucceeded(status.UncountedTerminatedPods.Succeeded...).
			WithFailed(status.UncountedTerminatedPods.Failed...)
	}
	desired := batchac.JobStatus().
		WithActive(status.Active).
		WithReady(ready(job, status)).
		WithTerminating(value(status.Terminating)).
		WithSucceeded(status.Succeeded).
		WithFailed(status.Failed).
		WithUncountedTerminatedPods(uncounted)
	desired.StartTime = status.StartTime
	desired.CompletionTime = status.CompletionTime
	desired.FailedIndexes = failedIndexes(job, status)
	if status.CompletedIndexes != "" || job.Status.CompletedIndexes != "" {
		desired.WithCompletedIndexes(status.CompletedIndexes)
	}
	for _, condition := range mergeConditions(status.Conditions, job.Status.Conditions) {
		desired.WithConditions(conditionConfiguration(condition))
	}
	configuration := batchac.Job(job.Name, job.Namespace).WithStatus(desired)
	configuration.ObjectMetaApplyConfiguration = withIdentity(configuration.ObjectMetaApplyConfiguration, job)
	if note := noted(counted); note != "" {
		configuration.WithAnnotations(map[string]string{names.CountedAnnotation: note})
	}
	return configuration
}

// maxNoted bounds the UIDs that are noted on a Job, in bytes; the API server takes
// annotations of 256 KiB in all.
const maxNoted = 128 << 10

// noted is the value of names.CountedAnnotation; empty for none. UIDs for which there is
// no room are left out: their Pods would be counted again, should all that Temporal knows
// be lost before they are released.
func noted(counted []string) string {
	size := 0
	for i, uid := range counted {
		if size += len(uid) + 1; size > maxNoted {
			counted = counted[:i]
			break
		}
	}
	return strings.Join(counted, ",")
}

// ready is status.ready; where it is nil the Job keeps what PodWatch has projected,
// as far as the API server accepts it (parity 2.17).
func ready(job *batchv1.Job, status *batchv1.JobStatus) int32 {
	if status.Ready != nil {
		return *status.Ready
	}
	return min(value(job.Status.Ready), status.Active)
}

// failedIndexes is set exactly where the Job has a back-off limit per index: an
// empty value is written then, and none is accepted otherwise (parity 2.14, 2.17).
func failedIndexes(job *batchv1.Job, status *batchv1.JobStatus) *string {
	switch {
	case job.Spec.BackoffLimitPerIndex == nil:
		return nil
	case status.FailedIndexes == nil:
		return new(string)
	}
	return status.FailedIndexes
}

func withIdentity(meta *metaac.ObjectMetaApplyConfiguration, job *batchv1.Job) *metaac.ObjectMetaApplyConfiguration {
	return meta.WithUID(job.UID).WithResourceVersion(job.ResourceVersion)
}

func conditionConfiguration(condition batchv1.JobCondition) *batchac.JobConditionApplyConfiguration {
	configuration := batchac.JobCondition().WithType(condition.Type).WithStatus(condition.Status)
	if !condition.LastProbeTime.IsZero() {
		configuration.WithLastProbeTime(condition.LastProbeTime)
	}
	if !condition.LastTransitionTime.IsZero() {
		configuration.WithLastTransitionTime(condition.LastTransitionTime)
	}
	if condition.Reason != "" {
		configuration.WithReason(condition.Reason)
	}
	if condition.Message != "" {
		configuration.WithMessage(condition.Message)
	}
	return configuration
}

// mergeConditions returns the wanted conditions followed by those of the current
// ones whose type is not the Job controller's.
func mergeConditions(wanted, current []batchv1.JobCondition) []batchv1.JobCondition {
	merged := append([]batchv1.JobCondition{}, wanted...)
	for _, condition := range current {
		if !ownCondition(condition.Type) {
			merged = append(merged, condition)
		}
	}
	return merged
}

// ownCondition reports whether the Job controller is the writer of a condition type.
func ownCondition(kind batchv1.JobConditionType) bool {
	switch kind {
	case batchv1.JobSuspended, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet:
		return true
	}
	return false
}

// replaceStatus writes the same as apply would, and removes in the one write what
// apply can't: fields that another manager (an earlier controller of a Job that was
// taken over) owns too.
func replaceStatus(ctx context.Context, jobs typedbatchv1.JobInterface, before *batchv1.Job, status *batchv1.JobStatus, counted []string, removal map[string]any) (*batchv1.Job, error) {
	wanted, err := json.Marshal(jobStatusConfiguration(before, status, counted).Status)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	whole := map[string]any{}
	if err := json.Unmarshal(wanted, &whole); err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	maps.Copy(whole, removal)
	var note any
	if text := noted(counted); text != "" {
		note = text
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": before.UID, "resourceVersion": before.ResourceVersion,
			"annotations": map[string]any{names.CountedAnnotation: note},
		},
		"status": whole,
	})
	if err != nil {
		return nil, fmt.Errorf("encode status patch: %w", err)
	}
	return jobs.Patch(ctx, before.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: JobFieldManager}, "status")
}

// residue returns, as a merge patch of the status, the removal of what is
// stored and not wanted.
func residue(stored, wanted *batchv1.JobStatus) map[string]any {
	removal := map[string]any{}
	if wanted.StartTime == nil && stored.StartTime != nil {
		removal["startTime"] = nil
	}
	var want, have batchv1.UncountedTerminatedPods
	if wanted.UncountedTerminatedPods != nil {
		want = *wanted.UncountedTerminatedPods
	}
	if stored.UncountedTerminatedPods != nil {
		have = *stored.UncountedTerminatedPods
	}
	if len(have.Succeeded) > len(want.Succeeded) || len(have.Failed) > len(want.Failed) {
		removal["uncountedTerminatedPods"] = map[string]any{"succeeded": want.Succeeded, "failed": want.Failed}
	}
	return removal
}

// PatchJobReady writes status.ready alone. It returns false when the Job is gone
// or refuses the value, which then is out of date.
func PatchJobReady(ctx context.Context, client kubernetes.Interface, namespace, name string, uid types.UID, ready int32) (bool, error) {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"ready":%d}}`, uid, ready)
	_, err := client.BatchV1().Jobs(namespace).Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: PodWatchFieldManager}, "status")
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err), apierrors.IsConflict(err):
		return false, nil
	}
	return false, err
}

func value(number *int32) int32 {
	if number == nil {
		return 0
	}
	return *number
}
