package moving

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// dropped are annotations of an object that say nothing about the object that it becomes.
var dropped = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	names.MovedFromAnnotation, names.LastScheduleTimeAnnotation, names.SuspendedForMoveAnnotation,
	names.SuspendedByAnnotation, names.SuspendedAtAnnotation, names.SuspendNoteAnnotation, names.SuspendHeardAtAnnotation,
	names.ObservedUIDAnnotation, names.ObservedGenerationAnnotation, names.NextScheduleTimeAnnotation, names.WorkflowAnnotation, names.StatusRevisionAnnotation,
}

// metaOf is the metadata of the object that one becomes, with more annotations.
func metaOf(meta *metav1.ObjectMeta, version string, more map[string]string) metav1.ObjectMeta {
	made := metav1.ObjectMeta{
		Namespace: meta.Namespace, Name: meta.Name, Labels: maps.Clone(meta.Labels), OwnerReferences: slices.Clone(meta.OwnerReferences),
		Annotations: map[string]string{names.MovedFromAnnotation: version + "/" + string(meta.UID)},
	}
	for key, value := range meta.Annotations {
		if !slices.Contains(dropped, key) {
			made.Annotations[key] = value
		}
	}
	maps.Copy(made.Annotations, more)
	return made
}

// ToOurs is what a CronJob of batch/v1 becomes at a time, which is that of its creation or just before. last is what
// LastScheduleTime says about it. One that a person has suspended stays so; one that a move has suspended does not.
func ToOurs(native *batchv1.CronJob, last, now time.Time) *ostinatov1.CronJob {
	more := map[string]string{}
	if !last.IsZero() {
		more[names.LastScheduleTimeAnnotation] = schedule.NoteLastRun(last, now)
	}
	spec := native.Spec.DeepCopy()
	return &ostinatov1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind},
		ObjectMeta: metaOf(&native.ObjectMeta, batchv1.SchemeGroupVersion.String(), more),
		Spec: ostinatov1.CronJobSpec{
			Schedule:                   spec.Schedule,
			TimeZone:                   spec.TimeZone,
			StartingDeadlineSeconds:    spec.StartingDeadlineSeconds,
			ConcurrencyPolicy:          spec.ConcurrencyPolicy,
			Suspend:                    ptr.To(ptr.Deref(spec.Suspend, false) && !Native(native, nil).held()),
			JobTemplate:                spec.JobTemplate,
			SuccessfulJobsHistoryLimit: spec.SuccessfulJobsHistoryLimit,
			FailedJobsHistoryLimit:     spec.FailedJobsHistoryLimit,
		},
	}
}

// ToNative is what a CronJob of ours becomes: suspended by the move at a time, which its start ends, or for good where a person
// has suspended it. It is refused where ours has what batch/v1 lacks.
func ToNative(ours *ostinatov1.CronJob, held time.Time) (*batchv1.CronJob, error) {
	lost, err := unknownToNative(ours)
	if err != nil {
		return nil, err
	}
	if len(lost) > 0 {
		return nil, fmt.Errorf("batch/v1 does not know %v of spec: take it out first", lost)
	}
	more := map[string]string{}
	if !ptr.Deref(ours.Spec.Suspend, false) || Ours(ours, nil).held() {
		more[names.SuspendedForMoveAnnotation] = held.UTC().Format(time.RFC3339Nano)
	}
	spec := ours.Spec.DeepCopy()
	return &batchv1.CronJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind},
		ObjectMeta: metaOf(&ours.ObjectMeta, ostinatov1.GroupVersion.String(), more),
		Spec: batchv1.CronJobSpec{
			Schedule:                   spec.Schedule,
			TimeZone:                   spec.TimeZone,
			StartingDeadlineSeconds:    spec.StartingDeadlineSeconds,
			ConcurrencyPolicy:          spec.ConcurrencyPolicy,
			Suspend:                    ptr.To(true),
			JobTemplate:                spec.JobTemplate,
			SuccessfulJobsHistoryLimit: spec.SuccessfulJobsHistoryLimit,
			FailedJobsHistoryLimit:     spec.FailedJobsHistoryLimit,
		},
	}, nil
}

// Started is a CronJob of batch/v1 as it is once it runs.
func Started(native *batchv1.CronJob) *batchv1.CronJob {
	started := native.DeepCopy()
	if Native(native, nil).held() {
		started.Spec.Suspend = ptr.To(false)
		delete(started.Annotations, names.SuspendedForMoveAnnotation)
	}
	return started
}

// ofNative are the fields of a spec of batch/v1.
var ofNative = []string{
	"schedule", "timeZone", "startingDeadlineSeconds", "concurrencyPolicy", "suspend", "jobTemplate",
	"successfulJobsHistoryLimit", "failedJobsHistoryLimit",
}

// unknownToNative lists what a spec of ours has that batch/v1 lacks.
func unknownToNative(ours *ostinatov1.CronJob) (lost []string, err error) {
	text, err := json.Marshal(ours.Spec)
	if err != nil {
		return nil, fmt.Errorf("encode the spec of CronJob %s/%s: %w", ours.Namespace, ours.Name, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("read the spec of CronJob %s/%s: %w", ours.Namespace, ours.Name, err)
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(ofNative, field) {
			lost = append(lost, field)
		}
	}
	if ours.Spec.ConcurrencyPolicy == ostinatov1.QueueConcurrent {
		lost = append(lost, "concurrencyPolicy Queue")
	}
	return lost, nil
}
