package k8s

import (
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// SuspenderOf says who has written spec.suspend of an object last: by its managed fields,
// which name no person, and where Ostinato did it for a signal, by the annotations that were
// written with it. The annotations alone tell nothing: they stay when others suspend.
func SuspenderOf(object metav1.Object) schedule.Suspender {
	var writer *metav1.ManagedFieldsEntry
	entries := object.GetManagedFields()
	for index := range entries {
		entry := &entries[index]
		if !ownsSuspend(entry) {
			continue
		}
		if strings.HasPrefix(entry.Manager, managerPrefix) {
			annotations := object.GetAnnotations()
			suspender := schedule.Suspender{
				By: annotations[names.SuspendedByAnnotation], Through: schedule.ThroughSignal, Why: annotations[names.SuspendNoteAnnotation],
			}
			if at, err := time.Parse(time.RFC3339Nano, annotations[names.SuspendedAtAnnotation]); err == nil {
				suspender.At = at.UTC()
			}
			return suspender
		}
		// Who applies the value that there is shares the field.
		if writer == nil || entry.Time.Before(writer.Time) {
			writer = entry
		}
	}
	if writer == nil {
		return schedule.Suspender{}
	}
	suspender := schedule.Suspender{Through: writer.Manager}
	if writer.Time != nil {
		suspender.At = writer.Time.UTC()
	}
	return suspender
}

func ownsSuspend(entry *metav1.ManagedFieldsEntry) bool {
	if entry.Subresource != "" || entry.FieldsV1 == nil {
		return false
	}
	var fields struct {
		Spec struct {
			Suspend json.RawMessage `json:"f:suspend"`
		} `json:"f:spec"`
	}
	return json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Suspend != nil
}
