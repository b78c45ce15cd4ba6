package k8s

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// WriteJobStatus makes status the Job's status by an update, which costs the API server half as much as server-side apply, and
// returns the Job as stored. read is the Job as just read: its UID and resourceVersion guard the write. counted, Pods that the
// status counts, are noted on the Job by the same request (names.CountedAnnotation), unless the status ends it. Errors are ErrGone or
// the API server's, a conflict if another writer came first.
func WriteJobStatus(ctx context.Context, client kubernetes.Interface, read *batchv1.Job, status *batchv1.JobStatus, counted []job.Counted) (after *batchv1.Job, err error) {
	after, err = client.BatchV1().Jobs(read.Namespace).UpdateStatus(ctx, withStatus(read, status, counted), metav1.UpdateOptions{FieldManager: JobFieldManager})
	if apierrors.IsNotFound(err) {
		return nil, ErrGone
	}
	return after, err
}

// AddJobCondition adds a condition to the Job's status, and leaves all else as it was read. Errors are those of WriteJobStatus.
func AddJobCondition(ctx context.Context, client kubernetes.Interface, read *batchv1.Job, condition batchv1.JobCondition) (after *batchv1.Job, err error) {
	wanted := read.DeepCopy()
	wanted.ManagedFields = nil
	wanted.Status.Conditions = append(wanted.Status.Conditions, condition)
	after, err = client.BatchV1().Jobs(read.Namespace).UpdateStatus(ctx, wanted, metav1.UpdateOptions{FieldManager: JobFieldManager})
	if apierrors.IsNotFound(err) {
		return nil, ErrGone
	}
	return after, err
}

// HasJobStatus reports whether the Job has the status already that WriteJobStatus would make its own.
func HasJobStatus(read *batchv1.Job, status *batchv1.JobStatus) bool {
	return apiequality.Semantic.DeepEqual(withStatus(read, status, nil).Status, read.Status)
}

// withStatus returns the Job with the wanted status, and with counted noted on it. Conditions of types that are not the Job
// controller's stay. uncountedTerminatedPods is there even when it is empty, as upstream leaves it (parity 2.11). What the
// API server knows of field managers is its own.
func withStatus(read *batchv1.Job, status *batchv1.JobStatus, counted []job.Counted) *batchv1.Job {
	wanted := read.DeepCopy()
	wanted.ManagedFields = nil
	wanted.Status = *status.DeepCopy()
	// Without one the Job keeps what PodWatch has projected, as far as the API server accepts it (parity 2.17).
	wanted.Status.Ready = new(ptr.Deref(status.Ready, min(ptr.Deref(read.Status.Ready, 0), status.Active)))
	wanted.Status.Terminating = new(ptr.Deref(status.Terminating, 0))
	if wanted.Status.UncountedTerminatedPods == nil {
		wanted.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	// They are there exactly where the Job has a back-off limit per index, if only empty (parity 2.14, 2.17).
	wanted.Status.FailedIndexes = nil
	if read.Spec.BackoffLimitPerIndex != nil {
		wanted.Status.FailedIndexes = new(ptr.Deref(status.FailedIndexes, ""))
	}
	for _, condition := range read.Status.Conditions {
		if !slices.Contains(job.ConditionTypes, condition.Type) {
			wanted.Status.Conditions = append(wanted.Status.Conditions, condition)
		}
	}
	delete(wanted.Annotations, names.CountedAnnotation)
	if note := noted(counted, wanted.Annotations); note != "" && claim.Finished(wanted) == nil {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, names.CountedAnnotation, note)
	}
	return wanted
}

// maxNoted bounds the UIDs that are noted on a Job, in bytes.
const maxNoted = 128 << 10

// NotesAll reports whether the Job has room to note one more Pod. If not, its note may lack Pods that the status counts.
func NotesAll(object *batchv1.Job) bool {
	left := apivalidation.TotalAnnotationSizeLimitB
	for key, value := range object.Annotations {
		left -= len(key) + len(value)
	}
	note := len(object.Annotations[names.CountedAnnotation])
	return left > len(names.CountedAnnotation)+longestUID && note+longestUID < maxNoted
}

// longestUID is the length of any UID of a Pod, with its separator.
const longestUID = 64

// noted is the value of names.CountedAnnotation; empty for none. UIDs are left out that the API server does not take beside
// the other annotations: it would refuse the status for as long as these Pods are not released, which waits for the status.
// Their Pods would be counted again if Temporal lost its data before they are released.
func noted(counted []job.Counted, others map[string]string) string {
	left := apivalidation.TotalAnnotationSizeLimitB - len(names.CountedAnnotation)
	for key, value := range others {
		left -= len(key) + len(value)
	}
	left = min(left, maxNoted)
	var uids []string
	for _, pod := range counted {
		if pod.Fate == job.Undecided {
			continue
		}
		if left -= len(pod.UID) + 1; left < 0 {
			break
		}
		uids = append(uids, pod.UID)
	}
	return strings.Join(uids, ",")
}

// PatchJobReady writes status.ready alone. It returns false when the Job is gone or refuses the value, which then is out of date.
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
