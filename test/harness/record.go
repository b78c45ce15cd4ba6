package harness

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"ostinato.dev/ostinato/internal/names"
)

// Record remembers every Pod and every Job that was ever seen in a namespace, so
// that a test can tell that nothing was made twice, even when it was deleted
// since. It goes on over an outage of the API server.
type Record struct {
	mutex sync.Mutex
	pods  map[types.UID]*corev1.Pod
	jobs  map[types.UID]*batchv1.Job
}

// Record watches a namespace until the test ends.
func (h *Harness) Record(t *testing.T, namespace string) *Record {
	t.Helper()
	record := &Record{pods: map[types.UID]*corev1.Pod{}, jobs: map[types.UID]*batchv1.Job{}}
	factory := informers.NewSharedInformerFactoryWithOptions(h.Kubernetes, 0, informers.WithNamespace(namespace))
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    record.see,
		UpdateFunc: func(_, object any) { record.see(object) },
	}
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Pods().Informer(), factory.Batch().V1().Jobs().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			t.Fatalf("watch namespace %s: %v", namespace, err)
		}
	}
	stop := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	factory.Start(stop)
	for kind, synced := range factory.WaitForCacheSync(stop) {
		if !synced {
			t.Fatalf("watch namespace %s: %s did not synchronise", namespace, kind)
		}
	}
	return record
}

func (r *Record) see(object any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch object := object.(type) {
	case *corev1.Pod:
		r.pods[object.UID] = object
	case *batchv1.Job:
		r.jobs[object.UID] = object
	}
}

// Pods returns the last that was seen of every Pod of the Job, oldest first.
func (r *Record) Pods(job string) []*corev1.Pod {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var pods []*corev1.Pod
	for _, pod := range r.pods {
		if pod.Labels[batchv1.JobNameLabel] == job {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return older(a, b) })
	return pods
}

// Jobs returns the last that was seen of every Job of the CronJob; of every Job
// when cronJob is "". Oldest first.
func (r *Record) Jobs(cronJob string) []*batchv1.Job {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var jobs []*batchv1.Job
	for _, job := range r.jobs {
		owner := metav1.GetControllerOf(job)
		if cronJob == "" || (owner != nil && owner.Kind == "CronJob" && owner.Name == cronJob) {
			jobs = append(jobs, job)
		}
	}
	slices.SortFunc(jobs, func(a, b *batchv1.Job) int { return older(a, b) })
	return jobs
}

func older(a, b metav1.Object) int {
	first, second := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	return first.Compare(second.Time)
}

// Scheduled returns the CronJob's scheduled Jobs by their nominal time.
func (r *Record) Scheduled(cronJob string) map[time.Time][]*batchv1.Job {
	byTime := map[time.Time][]*batchv1.Job{}
	for _, job := range r.Jobs(cronJob) {
		if job.Annotations[names.InstantiateAnnotation] != "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, job.Annotations[names.ScheduledTimestampAnnotation])
		if err == nil {
			byTime[at.UTC()] = append(byTime[at.UTC()], job)
		}
	}
	return byTime
}

// Tracked tells whether a Pod carries the tracking finalizer.
func Tracked(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, names.TrackingFinalizer) }

// Duplicates describes nominal times with more than one Job; nil if there are none.
func (r *Record) Duplicates(cronJob string) error {
	for at, jobs := range r.Scheduled(cronJob) {
		if len(jobs) > 1 {
			return fmt.Errorf("%d Jobs were made for %s", len(jobs), at)
		}
	}
	return nil
}
