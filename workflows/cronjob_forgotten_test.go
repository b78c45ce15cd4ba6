package workflows_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// A worker dies between the create of a Job and the end of its workflow task. The bridge
// finds the Job before the task is repeated: the Job's workflow starts then, and not when
// somebody sweeps.
func TestCronJobStartsTheWorkflowOfAForgottenJob(t *testing.T) {
	k := newCronJobKube(t)
	forgotten := schedule.Run{Name: "hello-82050360", UID: "uid-forgotten", Scheduled: cronStart.Add(30 * time.Second), Started: cronStart.Add(30 * time.Second)}
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		if len(request.Look) == 0 {
			return nil, nil
		}
		return &cronJobResult{
			Running:  []schedule.Run{forgotten},
			Children: []protocol.StartedJob{{Run: forgotten, Spec: job.Spec{Parallelism: 7}, Managed: true}},
		}, nil
	}
	for _, delay := range []time.Duration{5 * time.Second, 8 * time.Second} {
		k.signal(delay, protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: hello.UID, Name: forgotten.Name, UID: forgotten.UID})
	}
	k.runUntil(20*time.Second, cron("0 0 1 1 *", allow))
	if len(k.children) != 1 || k.children[0].Job.UID != forgotten.UID || k.children[0].Spec.Parallelism != 7 {
		t.Errorf("children: %+v", k.children)
	}
}
