package failure

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/protocol"
)

// The only worker is killed while a Pod runs; the Pod ends with nobody there.
func TestWorkerKilledWhileAPodRuns(t *testing.T) {
	disrupts(t)
	run := startRun(t, 4)
	killWorker(t, 0)
	run.podEnded(t)
	startWorker(t)
	run.finishesOnce(t, harness.Recovery)
}

// moment is a point in the life of runs at which the worker is killed.
type moment struct {
	name    string
	reached func(record *harness.Record, round int) bool
}

// moments are those around a fire and what follows from it.
var moments = []moment{
	{"triggers are sent", func(*harness.Record, int) bool { return true }},
	{"a Job exists", func(record *harness.Record, round int) bool { return len(jobsOf(record, round)) > 0 }},
	{"a Pod exists", func(record *harness.Record, round int) bool {
		return anyPod(record, round, func(*corev1.Pod) bool { return true })
	}},
	{"a Pod has ended", func(record *harness.Record, round int) bool {
		return anyPod(record, round, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded })
	}},
}

// runsPerRound are started at once, so that a kill finds them at different points.
const runsPerRound = 6

func cronJobOf(round, n int) string { return fmt.Sprintf("round-%d-%d", round, n) }

func jobsOf(record *harness.Record, round int) []*batchv1.Job {
	var jobs []*batchv1.Job
	for n := range runsPerRound {
		jobs = append(jobs, record.Jobs(cronJobOf(round, n))...)
	}
	return jobs
}

func jobNames(jobs []*batchv1.Job) []string {
	var names []string
	for _, job := range jobs {
		names = append(names, fmt.Sprintf("%s of %s", job.Name, job.CreationTimestamp.Format(time.TimeOnly)))
	}
	return names
}

func anyPod(record *harness.Record, round int, matches func(*corev1.Pod) bool) bool {
	for _, job := range jobsOf(record, round) {
		for _, pod := range record.Pods(job.Name) {
			if matches(pod) {
				return true
			}
		}
	}
	return false
}

// A worker that is killed around a fire leaves neither a second Job nor a second Pod.
func TestWorkerKilledAroundCreation(t *testing.T) {
	disrupts(t)
	namespace := stack.Namespace(t)
	record := stack.Record(t, namespace)
	for round := range moments {
		for n := range runsPerRound {
			stack.CreateCronJob(t, harness.NewCronJob(namespace, cronJobOf(round, n), harness.Yearly, harness.JobSpec()))
		}
	}
	for round, moment := range moments {
		for n := range runsPerRound {
			harness.Eventually(t, harness.Recovery, func(ctx context.Context) error {
				return stack.Observed(ctx, namespace, cronJobOf(round, n))
			})
		}
		for n := range runsPerRound {
			stack.Signal(t, harness.CronJobWorkflow(namespace, cronJobOf(round, n)), protocol.TriggerSignal, nil)
		}
		asSoonAs(t, moment.name, func() bool { return moment.reached(record, round) })
		killWorker(t, 0)
		startWorker(t)
	}
	for round, moment := range moments {
		for n := range runsPerRound {
			harness.Eventually(t, harness.Recovery, func(context.Context) error {
				if jobs := record.Jobs(cronJobOf(round, n)); len(jobs) != 1 {
					return fmt.Errorf("killed when %s: %s has the Jobs %v", moment.name, cronJobOf(round, n), jobNames(jobs))
				}
				return nil
			})
			finishesOnce(t, record, namespace, record.Jobs(cronJobOf(round, n))[0].Name, harness.Recovery)
		}
	}
	for round, moment := range moments {
		if jobs := jobsOf(record, round); len(jobs) != runsPerRound {
			t.Errorf("killed when %s: %d Jobs were made for %d triggers", moment.name, len(jobs), runsPerRound)
		}
	}
}

// drainBound is how long a worker may take to stop when it is asked to, with a
// Pod running, and its successor to see the Pod's end: there is no reason to wait
// for the Pod or for the heartbeat timeout.
const drainBound = harness.HeartbeatTimeout

// A worker that is asked to stop does so soon, with exit code 0, and hands
// PodWatch over without waiting for a heartbeat timeout.
func TestWorkerDrains(t *testing.T) {
	disrupts(t)
	run := startRun(t, 5)
	worker := stack.Workers()[0]
	asked := time.Now()
	if err := stack.Stack.RestartWorker(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	<-worker.Done()
	if err := worker.Err(); err != nil {
		t.Errorf("the worker did not end well: %v", err)
	}
	if took := time.Since(asked); took > drainBound+harness.Slack {
		t.Errorf("stopping one worker and starting another took %s", took)
	}
	run.podEnded(t)
	run.finishesOnce(t, drainBound)
}
