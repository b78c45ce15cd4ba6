package activities_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// TestAResumeTakesBackWhatAGivenSuspendDid: what others had suspended before stays so.
func TestAResumeTakesBackWhatAGivenSuspendDid(t *testing.T) {
	notes := map[string]string{names.SuspendedByAnnotation: "ada", names.SuspendNoteAnnotation: "upgrade", names.SuspendedAtAnnotation: "2026-01-02T03:00:00Z"}
	wrote := func(manager, version string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: version, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`),
		}}
	}
	for name, test := range map[string]struct {
		manager    string
		running    bool
		by, reason string
		force      bool
		resumed    bool
	}{
		"by whom and why":                {manager: k8s.CronJobFieldManager, by: "ada", reason: "upgrade", resumed: true},
		"by whom":                        {manager: k8s.CronJobFieldManager, by: "ada", resumed: true},
		"without a word":                 {manager: k8s.CronJobFieldManager, resumed: true},
		"by another":                     {manager: k8s.CronJobFieldManager, by: "bob"},
		"for another reason":             {manager: k8s.CronJobFieldManager, by: "ada", reason: "fire"},
		"by another, with force":         {manager: k8s.CronJobFieldManager, by: "bob", reason: "fire", force: true, resumed: true},
		"what kubectl has suspended":     {manager: "kubectl-edit", by: "ada", reason: "upgrade"},
		"that, without a word":           {manager: "kubectl-edit", resumed: true},
		"what runs, where nothing is to": {manager: "kubectl-edit", running: true, by: "ada", resumed: true},
	} {
		for _, kind := range []string{protocol.CronJobKind, protocol.JobKind} {
			t.Run(name+", "+kind, func(t *testing.T) {
				cronJob, job := helloCronJob(), helloJob()
				cronJob.Annotations, cronJob.ManagedFields, cronJob.Spec.Suspend = notes, wrote(test.manager, ostinatov1.GroupVersion.String()), ptr.To(!test.running)
				job.Annotations, job.ManagedFields, job.Spec.Suspend = notes, wrote(test.manager, "batch/v1"), ptr.To(!test.running)
				s := newStage(t, objects(job), []*ostinatov1.CronJob{cronJob})
				request := protocol.SetSuspendRequest{
					Kind: kind, Object: cronJobRef, Wish: protocol.Wish{At: scheduled, Note: protocol.SignalNote{By: test.by}, Reason: test.reason, Force: test.force},
				}
				if kind == protocol.JobKind {
					request.Object = jobRef
				}
				result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
				suspended := ptr.Deref(s.cronJob().Spec.Suspend, false)
				told := result.CronJobSpec != nil && !result.CronJobSpec.Suspend
				if kind == protocol.JobKind {
					suspended = ptr.Deref(s.job(jobName).Spec.Suspend, false)
					told = result.JobSpec != nil && !result.JobSpec.Suspend
				}
				assert.Equal(t, test.resumed, !suspended, "resumed")
				assert.Equal(t, test.resumed, told, "told so: %+v", result)
				refused := slices.ContainsFunc(s.recorded(), func(event string) bool {
					return strings.HasPrefix(event, "Warning SignalRefused Signal resume was not carried out: not suspended")
				})
				assert.Equal(t, !test.resumed, refused, "an Event says that it was not carried out")
				if !test.resumed {
					assert.Empty(t, s.writes())
				}
			})
		}
	}
}
