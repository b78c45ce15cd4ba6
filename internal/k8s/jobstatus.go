package k8s

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// applyAttempts bounds how often a status is merged anew with what another writer has put there.
const applyAttempts = 5

// ApplyJobStatus makes status the Job's status by an update, which costs the API server half as much as server-side apply.
// job is the Job as just read: its UID and resourceVersion guard the write, and its conditions of types that are not the Job
// controller's are kept. If another writer came first, the Job is read again. A nil Ready leaves readiness to PodWatch.
// counted, the UIDs of Pods that the status counts and that still carry the tracking finalizer, are noted on the Job by the
// same request (names.CountedAnnotation).
//
// before is the Job that the write was made from, after the Job as stored. Errors are ErrGone or the API server's, including
// a conflict if other writers persist.
func ApplyJobStatus(ctx context.Context, client kubernetes.Interface, job *batchv1.Job, status *batchv1.JobStatus, counted []string) (before, after *batchv1.Job, err error) {
	before = job
	for attempt := 1; ; attempt++ {
		after, err = WriteJobStatus(ctx, client, before, status, counted)
		switch {
		case err == nil:
			return before, after, nil
		case !apierrors.IsConflict(err) || attempt == applyAttempts:
			return nil, nil, err
		}
		if before, err = GetJob(ctx, client, job.Namespace, job.Name, job.UID); err != nil {
			return nil, nil, err
		}
	}
}

// WriteJobStatus is ApplyJobStatus for callers that handle a conflict themselves.
func WriteJobStatus(ctx context.Context, client kubernetes.Interface, job *batchv1.Job, status *batchv1.JobStatus, counted []string) (after *batchv1.Job, err error) {
	after, err = client.BatchV1().Jobs(job.Namespace).UpdateStatus(ctx, withStatus(job, status, counted), metav1.UpdateOptions{FieldManager: JobFieldManager})
	if apierrors.IsNotFound(err) {
		return nil, ErrGone
	}
	return after, err
}

// withStatus returns the Job with the wanted status, and with counted noted on it.
// uncountedTerminatedPods is there even when it is empty, as upstream leaves it (parity
// 2.11). What the API server knows of field managers is its own.
func withStatus(job *batchv1.Job, status *batchv1.JobStatus, counted []string) *batchv1.Job {
	wanted := job.DeepCopy()
	wanted.ManagedFields = nil
	wanted.Status = *status.DeepCopy()
	wanted.Status.Ready = new(ready(job, status))
	wanted.Status.Terminating = new(ptr.Deref(status.Terminating, 0))
	if wanted.Status.UncountedTerminatedPods == nil {
		wanted.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	wanted.Status.FailedIndexes = failedIndexes(job, status)
	wanted.Status.Conditions = mergeConditions(wanted.Status.Conditions, job.Status.Conditions)
	delete(wanted.Annotations, names.CountedAnnotation)
	if note := noted(counted, roomForNote(wanted.Annotations)); note != "" {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, names.CountedAnnotation, note)
	}
	return wanted
}

// maxNoted bounds the UIDs that are noted on a Job, in bytes.
const maxNoted = 128 << 10

// roomForNote returns how many bytes of UIDs the API server takes beside the other annotations: a status with
// more would be refused, for as long as these Pods are not released, which waits for the status.
func roomForNote(others map[string]string) int {
	room := apivalidation.TotalAnnotationSizeLimitB - len(names.CountedAnnotation)
	for key, value := range others {
		room -= len(key) + len(value)
	}
	return min(room, maxNoted)
}

// noted is the value of names.CountedAnnotation; empty for none. UIDs beyond the room are left out: their Pods would be
// counted again if Temporal lost its data before they are released.
func noted(counted []string, room int) string {
	size := 0
	for i, uid := range counted {
		if size += len(uid) + 1; size > room {
			counted = counted[:i]
			break
		}
	}
	return strings.Join(counted, ",")
}

// ready is status.ready; where it is nil the Job keeps what PodWatch has projected,
// as far as the API server accepts it (parity 2.17).
func ready(job *batchv1.Job, status *batchv1.JobStatus) int32 {
	return ptr.Deref(status.Ready, min(ptr.Deref(job.Status.Ready, 0), status.Active))
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

// mergeConditions appends the current conditions of types that are not the Job controller's.
func mergeConditions(wanted, current []batchv1.JobCondition) []batchv1.JobCondition {
	merged := slices.Clone(wanted)
	for _, condition := range current {
		if !slices.Contains(job.ConditionTypes, condition.Type) {
			merged = append(merged, condition)
		}
	}
	return merged
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

// CountedPods returns the UIDs of the Pods that the Job's status counts and that may
// still carry the tracking finalizer (names.CountedAnnotation).
func CountedPods(object *batchv1.Job) []string {
	uids := strings.FieldsFunc(object.Annotations[names.CountedAnnotation], func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	return uids[:min(len(uids), job.MaxCounted)]
}
