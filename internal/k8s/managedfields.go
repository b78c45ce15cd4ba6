package k8s

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// Field managers of Ostinato's writes. BridgeFieldManager owns the conditions that the bridge writes, and
// CommandFieldManager what a person writes through the ostinato command.
const (
	JobFieldManager      = names.FieldManagerPrefix + "job-controller"
	CronJobFieldManager  = names.FieldManagerPrefix + "cronjob-controller"
	PodWatchFieldManager = names.FieldManagerPrefix + "pod-watch"
	BridgeFieldManager   = names.FieldManagerPrefix + "bridge"
	CommandFieldManager  = names.FieldManagerPrefix + "command"
)

// fields are the managed fields of one manager that tell who has written something; nil for those that are not managed.
type fields struct {
	Spec struct {
		Suspend json.RawMessage `json:"f:suspend"`
	} `json:"f:spec"`
	Status struct {
		Succeeded json.RawMessage `json:"f:succeeded"`
		Failed    json.RawMessage `json:"f:failed"`
	} `json:"f:status"`
}

// fieldsOf reads what a manager has written to a subresource ("" for the object itself); ours tells whether it is
// Ostinato's. What can't be read says nothing.
func fieldsOf(entry *metav1.ManagedFieldsEntry, subresource string) (read fields, ours bool) {
	if entry.Subresource != subresource || entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &read) != nil {
		return fields{}, false
	}
	return read, strings.HasPrefix(entry.Manager, names.FieldManagerPrefix)
}

// CountersByOthers reads from the managed fields of a Job which counters of its status another field manager has set to what
// they are. If these say nothing, no other manager has.
func CountersByOthers(object *batchv1.Job) job.ByOthers {
	var ours, others job.ByOthers
	for entry := range pointers(object.ManagedFields) {
		read, own := fieldsOf(entry, "status")
		by := &others
		if own {
			by = &ours
		}
		by.Succeeded = by.Succeeded || read.Status.Succeeded != nil
		by.Failed = by.Failed || read.Status.Failed != nil
	}
	return job.ByOthers{Succeeded: others.Succeeded && !ours.Succeeded, Failed: others.Failed && !ours.Failed}
}

// SuspenderOf says who has written spec.suspend of an object last: by its managed fields, which name no person, and where
// Ostinato did it for a signal or the ostinato command did, by the annotations that were written with it. The annotations alone
// tell nothing: they stay when others suspend. Where admission stamps the user (stamped), it is named too. The annotation says when
// Ostinato has heard a signal; of every other writer the managed fields say when.
func SuspenderOf(object metav1.Object, stamped bool) (suspender schedule.Suspender) {
	var writer *metav1.ManagedFieldsEntry
	var byUs bool
	for entry := range pointers(object.GetManagedFields()) {
		read, ours := fieldsOf(entry, "")
		switch {
		case read.Spec.Suspend == nil, byUs:
		case ours:
			writer, byUs = entry, true
		// Who applies the value that there is shares the field.
		case writer == nil, entry.Time.Before(writer.Time):
			writer = entry
		}
	}
	annotations := object.GetAnnotations()
	switch {
	case byUs:
		at, _ := time.Parse(time.RFC3339Nano, annotations[names.SuspendedAtAnnotation])
		suspender = schedule.Suspender{
			By: annotations[names.SuspendedByAnnotation], Through: ledger.ThroughSignal, At: at.UTC(), Why: annotations[names.SuspendNoteAnnotation],
		}
		if writer.Manager == CommandFieldManager {
			suspender.Through, suspender.At = schedule.ThroughCommand, writtenAt(writer)
		}
	case writer != nil:
		suspender = schedule.Suspender{Through: writer.Manager, At: writtenAt(writer)}
	}
	if stamped && suspender.Through != "" {
		suspender.User = annotations[names.SuspendUserAnnotation]
	}
	return suspender
}

// writtenAt is when a field manager has written last, by the API server's clock; zero where it does not tell.
func writtenAt(entry *metav1.ManagedFieldsEntry) time.Time {
	return ptr.Deref(entry.Time, metav1.Time{}).UTC()
}

// MadeElsewhere reports whether someone else made the Pod: kube-controller-manager before the Job was taken over, or a person.
// Then its name is not made from an attempt, though it may read like one, and the Job's workflow may not know of it.
func MadeElsewhere(pod *corev1.Pod) bool { return specWriter(pod.ManagedFields) != nil }

// specWriter returns what tells that someone else has written the Pod's spec; nil
// when Ostinato did, or when nothing tells who did.
func specWriter(entries []metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	var writer *metav1.ManagedFieldsEntry
	for entry := range pointers(entries) {
		if entry.Subresource != "" || entry.FieldsV1 == nil || !bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) {
			continue
		}
		if strings.HasPrefix(entry.Manager, names.FieldManagerPrefix) {
			return nil
		}
		writer = entry
	}
	return writer
}

// trimManagedFields keeps what MadeElsewhere reads; of most Pods nothing.
func trimManagedFields(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	writer := specWriter(entries)
	if writer == nil {
		return nil
	}
	return []metav1.ManagedFieldsEntry{{Manager: writer.Manager, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
}
