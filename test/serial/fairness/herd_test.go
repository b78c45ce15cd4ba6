package fairness

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

const (
	// others is how many namespaces there are beside that of the herd, each with one CronJob.
	others = 6
	// preparations is how long before the first runs the CronJobs are made, at least.
	preparations = 30 * time.Second
	// pause is between the first herd and the second, in a trial twice.
	pause = time.Minute
	// herdDone is how long a herd may take.
	herdDone = 2 * harness.Bulk
)

// A herd of one namespace is due twice, and with it one run in each of some others. From the second time on all are
// prepared ahead and wait for a turn at the API server: the others' Jobs are in the first half that is created, and so
// are their Pods. In the order of arrival each of them would be anywhere, so that all of them are there once in 64 times.
// In a trial it tells too what such runs take with no herd beside them.
func TestAHerdDoesNotHoldUpTheRunsOfOtherNamespaces(t *testing.T) {
	crowd := stack.Namespace(t)
	seen := follow(t, crowd)
	first := time.Now().Add(preparations + time.Duration(*herd)*30*time.Millisecond).Truncate(time.Minute).Add(time.Minute)
	second := first.Add(pause)
	var alone time.Time
	if harness.Trial() {
		alone, second = second, second.Add(pause)
	}
	spec := harness.JobSpec(harness.RunSeconds(1))
	create := func(namespace, name, minutes string) {
		stack.CreateCronJob(t, harness.NewCronJob(namespace, name, minutes+" * * * *", spec))
	}
	for n := range *herd {
		create(crowd, fmt.Sprintf("herd-%04d", n), fmt.Sprintf("%d,%d", first.Minute(), second.Minute()))
	}
	for range others {
		namespace := stack.Namespace(t)
		seen.follow(t, namespace)
		create(namespace, "quiet", fmt.Sprintf("%d,%d", first.Minute(), second.Minute()))
		if !alone.IsZero() {
			// Another CronJob: "quiet" has no run at this time.
			create(namespace, "alone", strconv.Itoa(alone.Minute()))
		}
	}
	type moment struct {
		name string
		due  time.Time
		want int
	}
	moments := []moment{{"first herd", first, *herd + others}, {"second herd", second, *herd + others}}
	if !alone.IsZero() {
		moments = slices.Insert(moments, 1, moment{"alone", alone, others})
	}
	for _, moment := range moments {
		harness.Eventually(t, time.Until(moment.due)+herdDone, func(context.Context) error {
			if created := len(seen.of(moment.due)); created != moment.want {
				return fmt.Errorf("%d of %d Jobs were created for %s", created, moment.want, moment.due)
			}
			return nil
		})
	}
	harness.Eventually(t, herdDone, func(context.Context) error { return seen.allHavePods(second) })

	for _, moment := range moments {
		t.Logf("%s: %s", moment.name, seen.delays(moment.due, crowd))
	}
	for _, what := range []struct {
		name    string
		created func(*run) uint64
	}{
		{"Job", func(r *run) uint64 { return r.created }},
		{"Pod", func(r *run) uint64 { return r.pod }},
	} {
		runs := seen.of(second)
		slices.SortFunc(runs, func(a, b *run) int { return int(what.created(a)) - int(what.created(b)) })
		for before, r := range runs {
			if r.namespace != crowd {
				t.Logf("the %s of %s was created after %d others", what.name, r.namespace, before)
				if before > *herd/2 {
					t.Errorf("the %s of %s was created after %d others of %d", what.name, r.namespace, before, len(runs))
				}
			}
		}
	}
}

// run is one Job: when it and its Pod were first seen, and the revision by which each was created, which orders all of
// them.
type run struct {
	namespace    string
	due          time.Time
	seen, podded time.Time
	created, pod uint64
}

// sightings are the runs that were seen.
type sightings struct {
	mutex sync.Mutex
	runs  map[string]*run
}

func follow(t *testing.T, namespace string) *sightings {
	t.Helper()
	s := &sightings{runs: map[string]*run{}}
	s.follow(t, namespace)
	return s
}

func (s *sightings) follow(t *testing.T, namespace string) {
	t.Helper()
	stack.FollowJobs(t, namespace, func(job *batchv1.Job, _ bool) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if r := s.run(job.Namespace, job.Name); r.created == 0 {
			r.seen, r.created = time.Now(), revision(job)
			r.due, _ = time.Parse(time.RFC3339, job.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
		}
	})
	stack.FollowPods(t, namespace, func(pod *corev1.Pod, _ bool) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if r := s.run(pod.Namespace, pod.Labels[batchv1.JobNameLabel]); r.pod == 0 {
			r.podded, r.pod = time.Now(), revision(pod)
		}
	})
}

func (s *sightings) run(namespace, name string) *run {
	key := namespace + "/" + name
	if s.runs[key] == nil {
		s.runs[key] = &run{namespace: namespace}
	}
	return s.runs[key]
}

func revision(object metav1.Object) uint64 {
	number, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	return number
}

// of returns the runs of a time, as they are now.
func (s *sightings) of(due time.Time) (runs []*run) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.runs {
		if r.due.Equal(due) {
			known := *r
			runs = append(runs, &known)
		}
	}
	return runs
}

func (s *sightings) allHavePods(due time.Time) error {
	for _, r := range s.of(due) {
		if r.pod == 0 {
			return fmt.Errorf("a Job of %s has no Pod yet", r.namespace)
		}
	}
	return nil
}

// delays says how long after the due time Jobs and Pods were seen, of the crowd and of the others.
func (s *sightings) delays(due time.Time, crowd string) string {
	var herd, herdPods, other, otherPods []time.Duration
	for _, r := range s.of(due) {
		job, pod := r.seen.Sub(due).Round(time.Millisecond), r.podded.Sub(due).Round(time.Millisecond)
		if r.namespace == crowd {
			herd, herdPods = append(herd, job), append(herdPods, pod)
		} else {
			other, otherPods = append(other, job), append(otherPods, pod)
		}
	}
	return fmt.Sprintf("due to Job created: herd %s, others %s; due to Pod created: herd %s, others %s", spread(herd), spread(other), spread(herdPods), spread(otherPods))
}

func spread(delays []time.Duration) string {
	if len(delays) == 0 {
		return "none"
	}
	slices.Sort(delays)
	return fmt.Sprintf("p50 %s, p99 %s, max %s", delays[len(delays)/2], delays[(len(delays)-1)*99/100], delays[len(delays)-1])
}
