//go:build trial

package jobs

import (
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/histories/play"
)

// With an API server that takes whatever the limit of bulk work allows, a Job of 10,000 Pods is suspended in the time that this limit
// leaves, although Pods end all the time and a list takes longer than the time between two ends. With a real one on two cores
// test/trial/slow measures what the API server's own writes leave.
func TestABusyJobIsSuspendedAtTheBulkRate(t *testing.T) {
	const (
		running = 10_000
		rate    = 1000 // the default of --bulk-pods-per-second
		edited  = 20 * time.Second
		within  = 15 * time.Second
	)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(scenario{
			Spec: spec(running, running), Lasts: time.Hour, Lists: 1200 * time.Millisecond,
			Courses: []course{{Takes: 2 * time.Hour, Grace: time.Second}}, Steps: []step{suspending(edited)},
		}, 0)
		w.cluster.takes, w.cluster.bulkQPS = 10*time.Millisecond, rate
		w.cluster.do(func() { w.cluster.begun(running) })
		w.input = w.started()
		for i := range 3 * int(edited+within) / int(time.Second) {
			name := names.Pod(jobName, jobUID, int64(i+1))
			w.agenda.Plan(w.begin.Add(time.Duration(i)*time.Second/3), func() {
				w.kubelet.do(name, uidOf(name), func(pod *corev1.Pod) { w.kubelet.end(pod, 0) })
			})
		}
		suspended := w.begin.Add(edited + apart)
		var active int32
		var took time.Duration
		var look func()
		look = func() {
			w.cluster.do(func() { active = w.cluster.job().Status.Active })
			if took = time.Since(suspended); active == 0 || took > within {
				w.over = true
				panic(play.Over{})
			}
			w.agenda.Plan(time.Now().Add(time.Second/4), look)
		}
		w.agenda.Plan(suspended.Add(time.Second/4), look)
		if failure := w.play(0); failure != "" {
			t.Fatal(failure)
		}
		t.Logf("suspend to active 0: %v", took)
		if active > 0 {
			t.Errorf("%d Pods are active %v after the Job was suspended", active, took)
		}
	})
}

func uidOf(pod string) types.UID { return types.UID(pod + "-uid-1") }

// begun has the Job's first Pods made, and its status say so.
func (c *cluster) begun(count int32) {
	stored := c.job()
	stored.Status = batchv1.JobStatus{Active: count, StartTime: ptr.To(now())}
	for i := range int64(count) {
		name := names.Pod(jobName, jobUID, i+1)
		pod := k8s.RenderPod(stored, job.Create{Name: name, Attempt: i + 1})
		pod.UID, pod.CreationTimestamp, pod.ResourceVersion = uidOf(name), now(), c.nextVersion()
		pod.Status.Phase = corev1.PodPending
		c.record.created(pod, nil, stored, false)
		must(c.objects.Create(pods, pod, namespace))
		c.changed(pod)
	}
	c.storeJob(stored)
}
