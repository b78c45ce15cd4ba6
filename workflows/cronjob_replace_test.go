package workflows_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

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
	locally := 0
	k.environment.SetOnLocalActivityStartedListener(func(_ *activity.Info, _ context.Context, arguments []any) {
		for _, argument := range arguments {
			if request, ok := argument.(protocol.CronJobRequest); ok && len(request.Deletes) > 0 {
				locally++
			}
		}
	})
	regularly := 0
	k.environment.SetOnActivityStartedListener(func(_ *activity.Info, _ context.Context, arguments converter.EncodedValues) {
		var request protocol.CronJobRequest
		if arguments.Get(&request) == nil && len(request.Deletes) > 0 {
			regularly++
		}
	})
	k.runUntil(20*time.Second, cron("*/10 * * * *", replace))
	if locally != 0 || regularly != 1 || len(k.jobs) != 2 {
		t.Errorf("%d replacements by local activities, %d by others, %d Jobs", locally, regularly, len(k.jobs))
	}
}
