package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// The workflow of a Job is anyone's to complete who may write to Temporal: by whom a run was stopped is read off the Job.
func TestCronJobReadsWhoHasStoppedARunOffItsJob(t *testing.T) {
	for name, test := range map[string]struct {
		child, onJob string
		looks        int
	}{
		"a run that was stopped": {child: event.Stopped, onJob: "by ada (claimed): it hangs", looks: 1},
		"a run that has failed":  {child: "DeadlineExceeded"},
	} {
		k := newCronJobKube(t)
		k.ends = func(input protocol.JobInput) (job.Result, error) {
			return job.Result{UID: input.Job.UID, Outcome: job.Failed, Reason: test.child, Message: "Job was stopped by mallory"}, nil
		}
		looks := 0
		k.answer = func(request cronJobRequest) (*cronJobResult, error) {
			if len(request.Look) == 0 {
				return nil, nil
			}
			looks++
			var ended []schedule.Finished
			for _, run := range request.Look {
				ended = append(ended, schedule.Finished{Run: run, Condition: batchv1.JobFailed, Reason: test.child, Stopped: test.onJob, EndTime: k.environment.Now()})
			}
			return &cronJobResult{Ended: ended}, nil
		}
		k.runUntil(90*time.Second, cron("0 * * * *", allow))
		assert.Equal(t, test.looks, looks, name)
		last := k.status.RecentRuns[len(k.status.RecentRuns)-1]
		assert.Equal(t, [3]string{"Failed", test.child, test.onJob}, [3]string{last.Result, last.ResultReason, last.Stopped}, name)
	}
}
