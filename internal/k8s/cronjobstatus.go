package k8s

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// writeStatus writes by an update, the cheapest of the forms that the API server has for a
// custom resource. Of an update of the status it takes nothing but the status, so that the
// rest is left out but for what guards the write. Conditions of other types than
// Ostinato's stay: who added one since the CronJob was read has changed its
// resourceVersion.
func (s ownCronJobs) writeStatus(ctx context.Context, read *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) (*ostinatov1.CronJob, error) {
	wanted := &ostinatov1.CronJob{
		TypeMeta: metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: read.Namespace, Name: read.Name, UID: read.UID, ResourceVersion: read.ResourceVersion,
		},
		Status: *status.DeepCopy(),
	}
	for _, condition := range read.Status.Conditions {
		if !slices.Contains(schedule.ConditionTypes, condition.Type) && meta.FindStatusCondition(wanted.Status.Conditions, condition.Type) == nil {
			wanted.Status.Conditions = append(wanted.Status.Conditions, condition)
		}
	}
	return s.client.CronJobs(read.Namespace).UpdateStatus(ctx, wanted, metav1.UpdateOptions{FieldManager: CronJobFieldManager})
}
