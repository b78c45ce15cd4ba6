package bridge

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// component is the source of the bridge's Events.
const component = "ostinato-bridge"

// StartEvents returns a recorder that writes to the API server. stop writes what
// is queued and ends it.
func StartEvents(ctx context.Context, client kubernetes.Interface) (recorder record.EventRecorder, stop func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	// An ObjectReference is recorded as it is, so the scheme stays empty.
	recorder = broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component})
	return k8s.OneAtATime(recorder), broadcaster.Shutdown
}

// eventReference is what an Event on a CronJob refers to.
func eventReference(cronJob *ostinatov1.CronJob) *corev1.ObjectReference {
	kind := k8s.CronJobKindOf(cronJob)
	return &corev1.ObjectReference{
		APIVersion: kind.GroupVersion().String(),
		Kind:       kind.Kind,
		Namespace:  cronJob.Namespace,
		Name:       cronJob.Name,
		UID:        cronJob.UID,
	}
}

// jobEventReference is what an Event on a Job refers to.
func jobEventReference(job *batchv1.Job) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: batchv1.SchemeGroupVersion.String(),
		Kind:       "Job",
		Namespace:  job.Namespace,
		Name:       job.Name,
		UID:        job.UID,
	}
}
