package bridge

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// warn emits a Warning Event on a CronJob or a Job.
func (c *controller) warn(object metav1.Object, reason, message string) {
	kind := batchv1.SchemeGroupVersion.WithKind("Job")
	if cronJob, ok := object.(*ostinatov1.CronJob); ok {
		kind = k8s.CronJobKindOf(cronJob)
	}
	reference := &corev1.ObjectReference{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}
	reference.SetGroupVersionKind(kind)
	c.Recorder.Event(reference, corev1.EventTypeWarning, reason, message)
}
