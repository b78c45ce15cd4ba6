package workflows_test

import (
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// The start of a run may have no answer to the creates of its Job's first Pods.
func TestTheWorkflowOfARunIsStartedWithThatItsFirstPodsMayLand(t *testing.T) {
	k := newCronJobKube(t)
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		start := request.Start
		if start == nil {
			return nil, nil
		}
		run := schedule.Run{Name: start.Name, UID: "job-1", Scheduled: start.Scheduled, Started: start.Scheduled}
		return &cronJobResult{Started: &protocol.StartedJob{Run: run, Spec: job.Spec{Parallelism: 1}, Managed: true, Late: true}}, nil
	}
	k.runUntil(40*time.Second, cron("* * * * *", allow))
	if len(k.children) != 1 || !k.children[0].Late {
		t.Errorf("children: %+v", k.children)
	}
}
