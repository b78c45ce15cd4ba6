package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
)

// armedCronJobs observes which CronJobs have a workflow that has taken them over and set its timer: their next time is
// then in the status, or on a native CronJob in an annotation.
type armedCronJobs struct {
	// size is how many are waited for.
	size  int
	mutex sync.Mutex
	names map[string]bool
	at    time.Time
}

func newArmed(size int) *armedCronJobs {
	return &armedCronJobs{size: size, names: make(map[string]bool, size)}
}

func (a *armedCronJobs) observeCronJob(object metav1.Object, at time.Time) {
	armed := object.GetAnnotations()[names.NextScheduleTimeAnnotation] != ""
	if own, ok := object.(*ostinatov1.CronJob); ok {
		armed = own.Status.NextScheduleTime != nil
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if armed && !a.names[object.GetName()] {
		a.names[object.GetName()], a.at = true, at
	}
}

func (a *armedCronJobs) observeJob(*batchv1.Job, time.Time) {}

func (a *armedCronJobs) observePod(*corev1.Pod, bool, time.Time) {}

func (a *armedCronJobs) done() (bool, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return len(a.names) >= a.size, nil
}

func (a *armedCronJobs) state() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return fmt.Sprintf("%d of %d CronJobs were taken over", len(a.names), a.size)
}

// last is when the last one was.
func (a *armedCronJobs) last() time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.at
}

// startArmedRecorder watches a namespace's CronJobs: a list of thousands, again and again, would slow down what is measured.
func startArmedRecorder(ctx context.Context, clients *k8s.Clients, namespace string, native bool, a *armedCronJobs) (*recorder, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &recorder{observer: a, cancel: cancel}
	own, builtIn := clients.CronJobs.CronJobs(namespace), clients.Kubernetes.BatchV1().CronJobs(namespace)
	version, open := func(ctx context.Context) (string, error) {
		list, err := own.List(ctx, metav1.ListOptions{})
		return listVersion(list, err)
	}, own.Watch
	if native {
		version, open = func(ctx context.Context) (string, error) {
			list, err := builtIn.List(ctx, metav1.ListOptions{})
			return listVersion(list, err)
		}, builtIn.Watch
	}
	if err := r.watch(ctx, "CronJobs", version, open); err != nil {
		r.stop()
		return nil, fmt.Errorf("watch namespace %s: %w", namespace, err)
	}
	return r, nil
}
