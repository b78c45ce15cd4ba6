package activities

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// Source components of Events, upstream's own (parity 0.9), so that what reads
// Events by source goes on working.
const (
	jobComponent     = "job-controller"
	cronJobComponent = "cronjob-controller"
)

// Recorders emit Events, asynchronously: a slow API server loses Events rather
// than delays a run. An attempt tells of what it has done, and not of what it finds done:
// the Event of a write that was carried out without an answer is lost.
type Recorders struct {
	CronJobs record.EventRecorder
	Jobs     record.EventRecorder
	// gate bounds them; nil does not.
	gate *eventGate
}

// StartEvents returns recorders that write to the API server with upstream's
// aggregation and limits, with one difference: the limit of 25 Events in a row on
// one object is for each reason, so that the Events about a Job's many Pods don't
// hide how the Job ended. What is beyond a worker's room is dropped and counted in the
// registerer's metrics. stop writes what is queued and ends them.
func StartEvents(ctx context.Context, client kubernetes.Interface, registerer prometheus.Registerer) (recorders Recorders, stop func()) {
	sink := &typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")}
	start := func(component string) (record.EventRecorder, func()) {
		broadcaster := record.NewBroadcaster(record.WithContext(ctx),
			record.WithCorrelatorOptions(record.CorrelatorOptions{SpamKeyFunc: spamKey}))
		broadcaster.StartRecordingToSink(sink)
		// An ObjectReference is recorded as it is, so the scheme stays empty.
		recorder := broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component})
		return k8s.OneAtATime(recorder), broadcaster.Shutdown
	}
	cronJobs, stopCronJobs := start(cronJobComponent)
	jobs, stopJobs := start(jobComponent)
	return Recorders{CronJobs: cronJobs, Jobs: jobs, gate: newEventGate(registerer)}, func() {
		stopCronJobs()
		stopJobs()
	}
}

// spamKey is what Events have in common of which too many are dropped.
func spamKey(event *corev1.Event) string {
	return event.Source.Component + "/" + string(event.InvolvedObject.UID) + "/" + event.Reason
}

const (
	// maxRequested bounds the Events that one request asks for. An activity emits 25 at most, as
	// many as upstream's limit lets pass. The other three are emitted once at most: that of a
	// run's start, of a status that can't be written, and of a template.
	maxRequested = event.MaxPerRequest
	// keptForWarnings is how many of the others are warnings: that many deletes go well must not
	// hide that one does not.
	keptForWarnings = 3
)

// announcer emits the Events of one activity about the many Pods of a Job, or the many Jobs of a
// CronJob. They must not fill the queue in which those of other objects wait.
type announcer struct {
	recorders Recorders
	mutex     sync.Mutex
	room      int
	// noWarnings leaves them to who tries again.
	noWarnings bool
}

// besides returns the announcer of an activity that emits so many requested Events too.
func (r Recorders) besides(requested int) *announcer {
	return &announcer{recorders: r, room: maxRequested - min(requested, maxRequested)}
}

// onlyNormal returns the announcer of what somebody else tries again if it fails.
func (r Recorders) onlyNormal() *announcer {
	return &announcer{recorders: r, room: maxRequested, noWarnings: true}
}

func (a *announcer) onJob(owner protocol.ObjectReference, event event.Event) {
	if a.hasRoom(event) {
		a.recorders.onJob(owner, event)
	}
}

func (a *announcer) onCronJob(owner protocol.ObjectReference, event event.Event) {
	if a.hasRoom(event) {
		a.recorders.onCronJob(owner, event)
	}
}

func (a *announcer) hasRoom(event event.Event) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	kept := keptForWarnings
	if event.Type == corev1.EventTypeWarning {
		if a.noWarnings {
			return false
		}
		kept = 0
	}
	if a.room <= kept {
		return false
	}
	a.room--
	return true
}

// onCronJob and onJob emit Events on an object. Without a recorder they do nothing.
func (r Recorders) onCronJob(object protocol.ObjectReference, events ...event.Event) {
	version := ostinatov1.GroupVersion
	if object.Native {
		version = batchv1.SchemeGroupVersion
	}
	r.emit(r.CronJobs, reference(object, version.String(), ostinatov1.CronJobKind.Kind), events)
}

func (r Recorders) onJob(object protocol.ObjectReference, events ...event.Event) {
	r.emit(r.Jobs, reference(object, batchv1.SchemeGroupVersion.String(), "Job"), events)
}

func (r Recorders) emit(recorder record.EventRecorder, object *corev1.ObjectReference, events []event.Event) {
	if recorder == nil {
		return
	}
	if beyond := len(events) - maxRequested; beyond > 0 {
		r.gate.drop(beyond)
		events = events[:maxRequested]
	}
	for _, one := range events {
		if r.gate.pass(object.Namespace) {
			recorder.Event(object, one.Type, one.Reason, k8s.Truncated(one.Message, event.MaxMessage))
		}
	}
}

func reference(object protocol.ObjectReference, apiVersion, kind string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: apiVersion,
		Kind:       kind,
		Namespace:  object.Namespace,
		Name:       object.Name,
		UID:        types.UID(object.UID),
	}
}
