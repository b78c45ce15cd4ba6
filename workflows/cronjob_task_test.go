package workflows_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// A trigger comes with a run that is due and replaces it, in one workflow task. Were the Job
// deleted by a local activity, a repeated task would make it again: nobody knows of it.
func TestAStartIsInTheHistoryBeforeItsJobIsReplaced(t *testing.T) {
	k := newCronJobKube(t)
	k.answer = func(protocol.CronJobRequest) (*protocol.CronJobResult, error) {
		if len(k.requests) == 1 {
			k.send(protocol.TriggerSignal, nil)
			k.send(protocol.TriggerSignal, nil)
		}
		return nil, nil
	}
	locally, regularly := k.countDeletes()
	k.runUntil(20*time.Second, cron("*/10 * * * *", replace))
	if *locally != 0 || *regularly != 1 || len(k.jobs) != 2 {
		t.Errorf("%d replacements by local activities, %d by others, %d Jobs", *locally, *regularly, len(k.jobs))
	}
}

// A workflow task that was repeated has made a Job, which has ended. What is found of it is in the history before it is
// deleted for the history limit: the next repetition would find nothing, and start the run of the trigger once more.
func TestWhatWasFoundIsInTheHistoryBeforeItIsDeleted(t *testing.T) {
	k := newCronJobKube(t)
	triggered := names.TriggeredJob(hello.Name, hello.UID, cronStart.UnixMilli()+1)
	for _, found := range []string{triggered, "by-hand"} {
		k.signal(5*time.Second, protocol.JobClosedSignal, protocol.JobClosed{
			CronJobUID: hello.UID, Name: found, Result: protocol.JobEnd{UID: "of-" + found, Outcome: job.Complete},
		})
	}
	k.signal(5*time.Second, protocol.TriggerSignal, nil)
	k.answer = func(request protocol.CronJobRequest) (*protocol.CronJobResult, error) {
		for i := range request.Look {
			request.Look[i].Manual, request.Look[i].Scheduled = true, cronStart
		}
		return nil, nil
	}
	locally, regularly := k.countDeletes()
	spec := cron("0 0 1 1 *", allow)
	spec.SuccessfulJobsHistoryLimit = 0
	k.runUntil(20*time.Second, spec)
	if *locally != 0 || *regularly == 0 {
		t.Errorf("%d deletes by local activities, %d by others", *locally, *regularly)
	}
	if len(k.jobs) != 0 {
		t.Errorf("the run was started again: %+v", k.jobs)
	}
}

// countDeletes counts the calls that delete Jobs, by local activities and by others.
func (k *cronJobKube) countDeletes() (locally, regularly *int) {
	locally, regularly = new(int), new(int)
	k.environment.SetOnLocalActivityStartedListener(func(_ *activity.Info, _ context.Context, arguments []any) {
		for _, argument := range arguments {
			if request, ok := argument.(protocol.CronJobRequest); ok && len(request.Deletes) > 0 {
				*locally++
			}
		}
	})
	k.environment.SetOnActivityStartedListener(func(_ *activity.Info, _ context.Context, arguments converter.EncodedValues) {
		var request protocol.CronJobRequest
		if arguments.Get(&request) == nil && len(request.Deletes) > 0 {
			*regularly++
		}
	})
	return locally, regularly
}
