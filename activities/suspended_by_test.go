package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// TestTheStatusSaysWhoHasSuspended: the object tells, and no request.
func TestTheStatusSaysWhoHasSuspended(t *testing.T) {
	cronJob := helloCronJob()
	// Without any the API server begins none.
	cronJob.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-create", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: ostinatov1.GroupVersion.String(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:schedule":{}}}`),
	}}
	s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
	said := func() string {
		t.Helper()
		cronJob := s.cronJob()
		status := &ostinatov1.CronJobStatus{ObservedGeneration: cronJob.Generation, Conditions: []metav1.Condition{{
			Type: ostinatov1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: "Suspended", Message: "by mallory",
			LastTransitionTime: metav1.NewTime(scheduled),
		}}}
		result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{
			CronJob: cronJobRef, Status: status, Digest: schedule.SpecOf(cronJob).Digest(), Basis: s.basis(),
		})
		assert.Empty(t, result.StatusFailed)
		assert.Nil(t, result.CurrentSpec)
		return meta.FindStatusCondition(s.cronJob().Status.Conditions, ostinatov1.ConditionSuspended).Message
	}
	heard := scheduled
	suspend := func(by, note string) {
		t.Helper()
		heard = heard.Add(time.Nanosecond)
		must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, protocol.SetSuspendRequest{
			Kind: protocol.CronJobKind, Object: cronJobRef, Basis: s.basis(), Wish: protocol.Wish{Suspend: true, At: heard, Note: protocol.SignalNote{By: by, Note: note}},
		})
	}
	byAda := "by ada (claimed) at 2026-01-02T03:04:00Z through signal: maintenance"
	suspend("ada", "maintenance")
	assert.Equal(t, byAda, said())

	// Whoever suspends what is suspended has not suspended it.
	suspend("bob", "all of them")
	assert.Equal(t, byAda, said())
	assert.Equal(t, "ada", s.cronJob().Annotations[names.SuspendedByAnnotation])
	assert.Contains(t, s.recorded(), "Normal SignalTaken Signal suspend, of an object that is suspended already, was taken from bob (claimed): all of them")

	for _, value := range []string{"false", "true"} {
		_, err := s.cronJobs.CronJobs(namespace).Patch(t.Context(), "hello", types.MergePatchType, []byte(`{"spec":{"suspend":`+value+`}}`),
			metav1.PatchOptions{FieldManager: "kubectl-patch"})
		assert.NoError(t, err)
	}
	assert.Regexp(t, `^at [-0-9]{10}T[0-9:]{8}Z through kubectl-patch$`, said(), "although the annotations name ada")
}

// TestEachSuspensionHasAnEvent: by kubectl, Git or the command. A signal has an Event of its own. A status that is written again has none.
func TestEachSuspensionHasAnEvent(t *testing.T) {
	cronJob := helloCronJob()
	cronJob.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-create", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: ostinatov1.GroupVersion.String(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:schedule":{}}}`),
	}}
	s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
	for n, step := range []struct {
		suspend bool
		want    string
		// answers is what the workflow's ledger gets to know.
		answers string
	}{
		{true, `^Normal Suspended Suspended at .* through kubectl-patch$`, `^at .* through kubectl-patch$`},
		{true, "", `^at .* through kubectl-patch$`},
		{false, `^Normal Resumed Resumed at .* through kubectl-patch$`, `^at .* through kubectl-patch$`},
		{false, "", `^$`},
		{true, `^Normal Suspended Suspended at .* through kubectl-patch$`, `^at .* through kubectl-patch$`},
	} {
		_, err := s.cronJobs.CronJobs(namespace).Patch(t.Context(), "hello", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, step.suspend),
			metav1.PatchOptions{FieldManager: "kubectl-patch"})
		assert.NoError(t, err)
		condition := metav1.Condition{
			Type: ostinatov1.ConditionSuspended, Status: metav1.ConditionFalse, Reason: "NotSuspended", LastTransitionTime: metav1.NewTime(scheduled),
		}
		if step.suspend {
			condition.Status, condition.Reason, condition.LastTransitionTime = metav1.ConditionTrue, "Suspended", metav1.NewTime(scheduled.Add(time.Duration(n/2)*time.Minute))
		}
		current := s.cronJob()
		result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{
			CronJob: cronJobRef, Digest: schedule.SpecOf(current).Digest(), Basis: s.basis(),
			Status: &ostinatov1.CronJobStatus{ObservedGeneration: current.Generation, Conditions: []metav1.Condition{condition}},
		})
		assert.Regexp(t, step.answers, result.Suspender, "step %d", n)
		said := s.recorded()
		if step.want == "" {
			assert.Empty(t, said, "step %d", n)
		} else if assert.Len(t, said, 1, "step %d", n) {
			assert.Regexp(t, step.want, said[0])
		}
	}
}

// TestTheStatusNamesTheUserWhereAdmissionStampsIt, and nowhere else.
func TestTheStatusNamesTheUserWhereAdmissionStampsIt(t *testing.T) {
	for stamped, want := range map[bool]string{true: "by ada@example.com through kubectl-patch", false: "through kubectl-patch"} {
		cronJob := helloCronJob()
		cronJob.Annotations = map[string]string{names.SuspendUserAnnotation: "ada@example.com"}
		cronJob.Spec.Suspend = ptr.To(true)
		cronJob.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubectl-patch", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: ostinatov1.GroupVersion.String(),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`),
		}}
		s := newStage(t, nil, []*ostinatov1.CronJob{cronJob}, func(options *activities.Options) { options.StampedUsers = stamped })
		status := &ostinatov1.CronJobStatus{ObservedGeneration: cronJob.Generation, Conditions: []metav1.Condition{{
			Type: ostinatov1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: "Suspended", LastTransitionTime: metav1.NewTime(scheduled),
		}}}
		must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{
			CronJob: cronJobRef, Status: status, Digest: schedule.SpecOf(s.cronJob()).Digest(),
		})
		assert.Equal(t, want, meta.FindStatusCondition(s.cronJob().Status.Conditions, ostinatov1.ConditionSuspended).Message)
	}
}

// TestASuspendedJobSaysOnWhoHasSuspendedIt, whoever suspends it once more.
func TestASuspendedJobSaysOnWhoHasSuspendedIt(t *testing.T) {
	job := helloJob()
	job.Spec.Suspend = ptr.To(true)
	job.Annotations = map[string]string{names.SuspendedByAnnotation: "ada", names.SuspendedAtAnnotation: "2026-01-02T03:00:00Z"}
	s := newStage(t, objects(job), nil)
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, protocol.SetSuspendRequest{
		Kind: protocol.JobKind, Object: jobRef, Wish: protocol.Wish{Suspend: true, At: scheduled, Note: protocol.SignalNote{By: "bob"}},
	})
	assert.Equal(t, "ada", s.job(jobName).Annotations[names.SuspendedByAnnotation])
	assert.Equal(t, "2026-01-02T03:00:00Z", s.job(jobName).Annotations[names.SuspendedAtAnnotation])
	assert.Equal(t, "2026-01-02T03:04:00Z", s.job(jobName).Annotations[names.SuspendHeardAtAnnotation], "no earlier wish is carried out any more")
}
