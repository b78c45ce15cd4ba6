package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"

	sdktemporal "go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// attributed notes the search attributes that a workflow sets, as they are after each time.
func (k *cronJobKube) attributed() *[]map[string]any {
	var all []map[string]any
	now := map[string]any{}
	k.environment.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Run(func(arguments mock.Arguments) {
		for key, value := range arguments.Get(0).(sdktemporal.SearchAttributes).GetUntypedValues() {
			now[key.GetName()] = value
		}
		copied := map[string]any{}
		for name, value := range now {
			copied[name] = value
		}
		all = append(all, copied)
	}).Maybe()
	return &all
}

func input(spec schedule.Spec) protocol.CronJobInput {
	return protocol.CronJobInput{CronJob: hello, Spec: spec, SearchAttributes: true, StatusAttributes: true}
}

func TestSearchAttributesAreSetOnceARun(t *testing.T) {
	k := newCronJobKube(t)
	k.ends = func(input protocol.JobInput) (job.Result, error) {
		if len(k.children) == 2 {
			return job.Result{UID: input.Job.UID, Outcome: job.Failed, Reason: "BackoffLimitExceeded"}, nil
		}
		return job.Result{UID: input.Job.UID, Outcome: job.Complete}, nil
	}
	set := k.attributed()
	k.after(175*time.Second, k.environment.CancelWorkflow)
	_ = k.runInput(input(cron("* * * * *", allow)))
	expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00")
	if assert.Len(t, *set, 4, "at the first status, and at the end of each run") {
		assert.Equal(t, false, (*set)[0][protocol.CronJobSuspendedAttribute])
		for n, result := range []string{"Complete", "Failed", "Complete"} {
			assert.Equal(t, result, (*set)[n+1][protocol.CronJobLastResultAttribute])
			assert.WithinDuration(t, cronStart.Add(time.Duration(n+1)*time.Minute+30*time.Second), (*set)[n+1][protocol.CronJobNextRunAttribute].(time.Time), 0)
		}
	}
}

func TestASuspensionIsShownAtOnce(t *testing.T) {
	k := newCronJobKube(t)
	set := k.attributed()
	k.signal(5*time.Second, protocol.SuspendSignal, nil)
	k.signal(10*time.Second, protocol.ResumeSignal, nil)
	k.after(15*time.Second, k.environment.CancelWorkflow)
	_ = k.runInput(input(cron("0 12 * * *", allow)))
	if assert.Len(t, *set, 3) {
		for n, want := range []bool{false, true, false} {
			assert.Equal(t, want, (*set)[n][protocol.CronJobSuspendedAttribute])
		}
	}
}

func TestSearchAttributesAreLeftOut(t *testing.T) {
	k := newCronJobKube(t)
	set := k.attributed()
	left := input(cron("* * * * *", allow))
	left.StatusAttributes = false
	k.after(100*time.Second, k.environment.CancelWorkflow)
	next := k.continuedAs(k.runInput(left))
	assert.Empty(t, *set)
	assert.False(t, next.StatusAttributes)
}
