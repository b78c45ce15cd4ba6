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

// A trigger comes with a run that is due and replaces it, in one workflow task.
func TestAStartIsInTheHistoryBeforeItsJobIsReplaced(t *testing.T) {
	k := newCronJobKube(t)
	k.answer = func(cronJobRequest) (*cronJobResult, error) {
		if len(k.requests) == 1 {
			k.send(protocol.TriggerSignal, nil)
			k.send(protocol.TriggerSignal, nil)
		}
		return nil, nil
	}
	locally, regularly := k.count(func(request cronJobRequest) bool { return request.Start != nil })
	k.runUntil(20*time.Second, cron("*/10 * * * *", replace))
	if *locally != 0 || *regularly != 2 || len(k.jobs) != 2 {
		t.Errorf("%d starts by local activities, %d by others, %d Jobs", *locally, *regularly, len(k.jobs))
	}
}

// The workflow before has made the Job of a trigger, which has ended. What is found of it is in the history before it is
// deleted for the history limit: a task that is repeated would find nothing, and start the run once more.
func TestWhatWasFoundIsInTheHistoryBeforeItIsDeleted(t *testing.T) {
	k := newCronJobKube(t)
	triggered := names.TriggeredJob(hello.Name, hello.UID, cronStart.Add(5*time.Second).UnixMilli())
	for _, found := range []string{triggered, "by-hand"} {
		k.after(5*time.Second, func() { k.close(found, "of-"+found, job.Complete) })
	}
	k.signal(5*time.Second, protocol.TriggerSignal, nil)
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		for i := range request.Look {
			request.Look[i].Manual, request.Look[i].Scheduled = true, cronStart
		}
		return nil, nil
	}
	locally, regularly := k.count(func(request cronJobRequest) bool { return len(request.Look) > 0 })
	spec := cron("0 0 1 1 *", allow)
	spec.SuccessfulJobsHistoryLimit = 0
	k.runUntil(20*time.Second, spec)
	if *locally != 0 || *regularly == 0 {
		t.Errorf("%d looks by local activities, %d by others", *locally, *regularly)
	}
	if len(k.jobs) != 0 {
		t.Errorf("the run was started again: %+v", k.jobs)
	}
}

// count counts the calls with such a request, by local activities and by others.
func (k *cronJobKube) count(such func(cronJobRequest) bool) (locally, regularly *int) {
	locally, regularly = new(int), new(int)
	k.environment.SetOnLocalActivityStartedListener(func(_ *activity.Info, _ context.Context, arguments []any) {
		for _, argument := range arguments {
			if such(asked(argument)) {
				*locally++
			}
		}
	})
	k.environment.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, arguments converter.EncodedValues) {
		var start protocol.StartRunRequest
		var find protocol.FindRunsRequest
		if info.ActivityType.Name == protocol.StartRunActivity && arguments.Get(&start) == nil && such(asked(start)) ||
			info.ActivityType.Name == protocol.FindRunsActivity && arguments.Get(&find) == nil && such(asked(find)) {
			*regularly++
		}
	})
	return locally, regularly
}
