package k8s

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/times"
)

var nativeCronJobKind = batchv1.SchemeGroupVersion.WithKind(ostinatov1.CronJobKind.Kind)

// IsNative reports whether the CronJob is one of batch/v1, which FromNative has made.
func IsNative(cronJob *ostinatov1.CronJob) bool {
	return cronJob.APIVersion == nativeCronJobKind.GroupVersion().String()
}

// CronJobKindOf returns the kind that the CronJob has in the API.
func CronJobKindOf(cronJob *ostinatov1.CronJob) schema.GroupVersionKind {
	if IsNative(cronJob) {
		return nativeCronJobKind
	}
	return ostinatov1.CronJobKind
}

// FromNative gives a CronJob of batch/v1 the shape of Ostinato's, which holds the original's parts. What the status of
// batch/v1 has no field for is read from annotations. Conditions are kept nowhere: they are told by Events alone.
//
// The API server takes a schedule and annotations of any length, and Specs and statuses stay in memory and in
// histories. So an overlong schedule or time zone is cut to what is still refused, and annotations count only as far as
// Ostinato can have written them.
//
// Notes of another UID were copied with the object, or restored. Notes with a next run that is not after the last one
// are from before another controller went on with the CronJob. Neither count.
func FromNative(native *batchv1.CronJob) *ostinatov1.CronJob {
	cronJob := &ostinatov1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: nativeCronJobKind.GroupVersion().String(), Kind: nativeCronJobKind.Kind},
		ObjectMeta: native.ObjectMeta,
		Spec: ostinatov1.CronJobSpec{
			Schedule:                   clip.Text(native.Spec.Schedule, times.MaxSchedule+1),
			StartingDeadlineSeconds:    native.Spec.StartingDeadlineSeconds,
			ConcurrencyPolicy:          native.Spec.ConcurrencyPolicy,
			Suspend:                    native.Spec.Suspend,
			JobTemplate:                native.Spec.JobTemplate,
			SuccessfulJobsHistoryLimit: native.Spec.SuccessfulJobsHistoryLimit,
			FailedJobsHistoryLimit:     native.Spec.FailedJobsHistoryLimit,
		},
		Status: ostinatov1.CronJobStatus{
			Active:             native.Status.Active,
			LastScheduleTime:   native.Status.LastScheduleTime,
			LastSuccessfulTime: native.Status.LastSuccessfulTime,
		},
	}
	if zone := native.Spec.TimeZone; zone != nil {
		cronJob.Spec.TimeZone = new(clip.Text(*zone, times.MaxTimeZone+1))
	}
	if variable := native.Annotations[names.ScheduledTimeVariableAnnotation]; variable != "" {
		cronJob.Spec.ScheduledTimeVariable = &variable
	}
	if native.Annotations[names.ObservedUIDAnnotation] != string(native.UID) {
		return cronJob
	}
	cronJob.Status.Revision, cronJob.Status.PlanDigest = notedRevision(native.Annotations[names.StatusRevisionAnnotation])
	next, last := parsed(native.Annotations[names.NextScheduleTimeAnnotation]), native.Status.LastScheduleTime
	if !next.IsZero() {
		if last != nil && !next.After(last.Time) {
			return cronJob
		}
		cronJob.Status.NextScheduleTime = &metav1.Time{Time: next}
	}
	if generation, err := strconv.ParseInt(native.Annotations[names.ObservedGenerationAnnotation], 10, 64); err == nil {
		cronJob.Status.ObservedGeneration = generation
	}
	namespace, id, ok := strings.Cut(native.Annotations[names.WorkflowAnnotation], "/")
	if ok && len(namespace) <= schedule.MaxStatusName && len(id) <= schedule.MaxStatusWorkflowID {
		cronJob.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: namespace, ID: id}
	}
	return cronJob
}

// notedRevision reads the note of status.revision and status.planDigest.
func notedRevision(note string) (revision int64, planDigest string) {
	number, planDigest, _ := strings.Cut(note, " ")
	revision, err := strconv.ParseInt(number, 10, 64)
	if err != nil || revision < 0 || revision > schedule.MaxRevision || len(planDigest) > schedule.MaxPlanDigest {
		return 0, ""
	}
	return revision, planDigest
}

// NativeCronJobs stores the CronJobs of batch/v1.
func NativeCronJobs(client kubernetes.Interface) CronJobStore { return nativeCronJobs{client} }

type nativeCronJobs struct{ client kubernetes.Interface }

func (s nativeCronJobs) Get(ctx context.Context, namespace, name string, options metav1.GetOptions) (*ostinatov1.CronJob, error) {
	native, err := s.client.BatchV1().CronJobs(namespace).Get(ctx, name, options)
	return fromAnswer(native, err)
}

func (s nativeCronJobs) Patch(ctx context.Context, namespace, name string, patch []byte, subresources ...string) (*ostinatov1.CronJob, error) {
	native, err := s.client.BatchV1().CronJobs(namespace).Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: CronJobFieldManager}, subresources...)
	return fromAnswer(native, err)
}

func fromAnswer(native *batchv1.CronJob, err error) (*ostinatov1.CronJob, error) {
	if err != nil {
		return nil, err
	}
	return FromNative(native), nil
}

// WriteStatus writes status and notes in one request. It is a merge patch: the built-in
// controller owns the fields too, and apply would remove none of them.
func (s nativeCronJobs) WriteStatus(ctx context.Context, read *ostinatov1.CronJob, wanted *ostinatov1.CronJobStatus) (*ostinatov1.CronJob, error) {
	status := schedule.StatusNotBefore(*wanted, read.Status)
	// What is null is removed.
	notes := map[string]*string{
		names.ObservedUIDAnnotation:        new(string(read.UID)),
		names.ObservedGenerationAnnotation: new(strconv.FormatInt(status.ObservedGeneration, 10)),
		names.NextScheduleTimeAnnotation:   nil,
		names.WorkflowAnnotation:           nil,
		names.StatusRevisionAnnotation:     new(fmt.Sprintf("%d %s", status.Revision, status.PlanDigest)),
	}
	if status.NextScheduleTime != nil {
		notes[names.NextScheduleTimeAnnotation] = new(status.NextScheduleTime.UTC().Format(time.RFC3339))
	}
	if status.Workflow != nil {
		notes[names.WorkflowAnnotation] = new(status.Workflow.Namespace + "/" + status.Workflow.ID)
	}
	var active any
	if len(status.Active) > 0 {
		active = status.Active
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": read.UID, "resourceVersion": read.ResourceVersion, "annotations": notes},
		"status": map[string]any{
			"active": active, "lastScheduleTime": status.LastScheduleTime, "lastSuccessfulTime": status.LastSuccessfulTime,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encode status patch: %w", err)
	}
	stored, err := s.Patch(ctx, read.Namespace, read.Name, patch, "status")
	return withUID(stored, err, read.UID)
}
