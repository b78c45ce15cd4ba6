package k8s

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

// StartEvents returns a recorder of a component, for use by many at once, that writes to the API server. stop writes what is
// queued and ends it.
func StartEvents(ctx context.Context, client kubernetes.Interface, component string, options ...record.BroadcasterOption) (recorder record.EventRecorder, stop func()) {
	broadcaster := record.NewBroadcaster(append(options, record.WithContext(ctx))...)
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	// An ObjectReference is recorded as it is, so the scheme stays empty.
	recorder = broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component})
	return OneAtATime(recorder), broadcaster.Shutdown
}

// OneAtATime returns the recorder for use by many at once. client-go names an Event by its object and its nanosecond, so
// that of two which are recorded in the same one the API server would take the first only.
func OneAtATime(recorder record.EventRecorder) record.EventRecorder {
	return &serialRecorder{recorder: recorder}
}

type serialRecorder struct {
	mutex    sync.Mutex
	recorder record.EventRecorder
}

func (r *serialRecorder) Event(object runtime.Object, eventType, reason, message string) {
	r.AnnotatedEventf(object, nil, eventType, reason, "%s", message)
}

func (r *serialRecorder) Eventf(object runtime.Object, eventType, reason, format string, arguments ...any) {
	r.AnnotatedEventf(object, nil, eventType, reason, format, arguments...)
}

func (r *serialRecorder) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventType, reason, format string, arguments ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.recorder.AnnotatedEventf(object, annotations, eventType, reason, format, arguments...)
}
