package harness

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/names"
)

// Record remembers every Pod and every Job that was ever seen in a namespace, so that a test can tell that nothing was
// made twice, even when it was deleted since. It goes on over an outage of the API server, and is not more than a second
// behind when that is over.
type Record struct {
	mutex sync.Mutex
	pods  map[types.UID]*corev1.Pod
	jobs  map[types.UID]*batchv1.Job
}

// Record watches a namespace until the test ends.
func (h *Harness) Record(t *testing.T, namespace string) *Record {
	t.Helper()
	record := &Record{pods: map[types.UID]*corev1.Pod{}, jobs: map[types.UID]*batchv1.Job{}}
	h.FollowPods(t, namespace, func(pod *corev1.Pod, _ bool) {
		record.mutex.Lock()
		defer record.mutex.Unlock()
		record.pods[pod.UID] = pod
	})
	h.FollowJobs(t, namespace, func(job *batchv1.Job, _ bool) {
		record.mutex.Lock()
		defer record.mutex.Unlock()
		record.jobs[job.UID] = job
	})
	return record
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

// AllPods returns the last that was seen of every Pod, in no order.
func (r *Record) AllPods() []*corev1.Pod {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Collect(maps.Values(r.pods))
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

// Scheduled returns the Jobs of the CronJob's scheduled runs by scheduled time.
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

// Duplicates describes scheduled times with more than one Job; nil if there are none.
func (r *Record) Duplicates(cronJob string) error {
	for at, jobs := range r.Scheduled(cronJob) {
		if len(jobs) > 1 {
			return fmt.Errorf("%d Jobs were made for %s", len(jobs), at)
		}
	}
	return nil
}
