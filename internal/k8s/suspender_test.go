package k8s_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestWhoHasWrittenSuspend(t *testing.T) {
	const suspend, other = `{"f:spec":{"f:suspend":{}}}`, `{"f:spec":{"f:schedule":{}}}`
	wrote := func(manager, fields string, minute int) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	ofStatus := wrote("kubectl-edit", suspend, 1)
	ofStatus.Subresource = "status"
	notes := map[string]string{
		names.SuspendedByAnnotation: "ada", names.SuspendNoteAnnotation: "maintenance", names.SuspendedAtAnnotation: "2026-01-02T03:04:05.6Z",
	}
	ada := schedule.Suspender{By: "ada", At: time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC), Through: "signal", Why: "maintenance"}
	for name, test := range map[string]struct {
		managers []metav1.ManagedFieldsEntry
		notes    map[string]string
		want     schedule.Suspender
	}{
		"nothing tells":                       {},
		"annotations alone tell nothing":      {notes: notes},
		"a signal":                            {[]metav1.ManagedFieldsEntry{wrote(k8s.CronJobFieldManager, suspend, 5)}, notes, ada},
		"a signal, and who applies the value": {[]metav1.ManagedFieldsEntry{wrote("flux", suspend, 1), wrote(k8s.CronJobFieldManager, suspend, 5)}, notes, ada},
		"the command, after a signal of long ago": {
			[]metav1.ManagedFieldsEntry{wrote(k8s.CommandFieldManager, suspend, 9)}, notes,
			schedule.Suspender{By: "ada", At: time.Date(2026, 1, 2, 3, 9, 0, 0, time.UTC), Through: "ostinato", Why: "maintenance"},
		},
		"a signal without a word": {[]metav1.ManagedFieldsEntry{wrote(k8s.JobFieldManager, suspend, 5)}, nil, schedule.Suspender{Through: "signal"}},
		"a signal with a time that is none": {
			[]metav1.ManagedFieldsEntry{wrote(k8s.JobFieldManager, suspend, 5)}, map[string]string{names.SuspendedAtAnnotation: "noon"}, schedule.Suspender{Through: "signal"},
		},
		"kubectl, after a signal of long ago": {
			[]metav1.ManagedFieldsEntry{wrote(k8s.CronJobFieldManager, other, 5), wrote("kubectl-edit", suspend, 7)}, notes,
			schedule.Suspender{At: time.Date(2026, 1, 2, 3, 7, 0, 0, time.UTC), Through: "kubectl-edit"},
		},
		"two who apply it": {
			[]metav1.ManagedFieldsEntry{wrote("argocd", suspend, 8), wrote("flux", suspend, 7)}, nil,
			schedule.Suspender{At: time.Date(2026, 1, 2, 3, 7, 0, 0, time.UTC), Through: "flux"},
		},
		"a writer of the status":     {managers: []metav1.ManagedFieldsEntry{ofStatus}},
		"fields that can't be read":  {managers: []metav1.ManagedFieldsEntry{wrote("kubectl-edit", `{"f:spec":7`, 1), wrote("kubectl-edit", `{"f:spec":7}`, 1)}},
		"a manager without its time": {[]metav1.ManagedFieldsEntry{{Manager: "flux", FieldsV1: metav1.NewFieldsV1(suspend)}}, nil, schedule.Suspender{Through: "flux"}},
	} {
		t.Run(name, func(t *testing.T) {
			object := &metav1.ObjectMeta{Annotations: test.notes, ManagedFields: test.managers}
			assert.Equal(t, test.want, k8s.SuspenderOf(object, false))
		})
	}
}

// Without the admission policies anybody who may edit the object could write the name.
func TestAStampedUserCountsWhereAdmissionStampsIt(t *testing.T) {
	object := &metav1.ObjectMeta{
		Annotations:   map[string]string{names.SuspendUserAnnotation: "ada@example.com"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl-edit", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`)}},
	}
	assert.Equal(t, schedule.Suspender{User: "ada@example.com", Through: "kubectl-edit"}, k8s.SuspenderOf(object, true))
	assert.Equal(t, schedule.Suspender{Through: "kubectl-edit"}, k8s.SuspenderOf(object, false))
	object.ManagedFields = nil
	assert.Equal(t, schedule.Suspender{}, k8s.SuspenderOf(object, true), "nobody has written the field")
}
