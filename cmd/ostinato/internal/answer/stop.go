package answer

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// NotStopped says why a Job is not to be stopped; empty where it is.
func NotStopped(object *batchv1.Job) string {
	manager := ptr.Deref(object.Spec.ManagedBy, batchv1.JobControllerName)
	// A Job that was taken over names its workflow.
	ours := claim.Ours(object, false) || manager == batchv1.JobControllerName && metav1.HasAnnotation(object.ObjectMeta, names.WorkflowAnnotation)
	ended, stop := claim.Finished(object), job.StopOf(object.Annotations)
	switch {
	case ended != nil:
		return fmt.Sprintf("it has ended: %s", jobState(object))
	case object.DeletionTimestamp != nil:
		return "it is being deleted"
	case !ours:
		return fmt.Sprintf("it is run by %s, which knows no stop: kubectl delete job %s ends it", manager, object.Name)
	case stop != nil:
		return fmt.Sprintf("it is being stopped already (%s)", stop)
	}
	return ""
}
