package workflows_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// While the create of a run is retried, the workflow hears of what makes it unwanted.
func TestCronJobACreateThatIsRetriedGivesWay(t *testing.T) {
	suspended, edited := cron("*/30 * * * *", allow), cron("0 0 1 1 *", allow)
	suspended.Generation, suspended.Suspend = 2, true
	edited.Generation = 2
	for name, tell := range map[string]func(*cronJobKube){
		"to a suspend by edit": func(k *cronJobKube) { k.signalSpec(45*time.Second, suspended) },
		"to a suspend signal":  func(k *cronJobKube) { k.signal(45*time.Second, protocol.SuspendSignal, nil) },
		"to another schedule":  func(k *cronJobKube) { k.signalSpec(45*time.Second, edited) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			down := true
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if down && request.Start != nil {
					return nil, errors.New("connection refused")
				}
				return nil, nil
			}
			tell(k)
			k.after(75*time.Second, func() { down = false })
			k.runUntil(10*time.Minute, cron("*/30 * * * *", allow))
			expectList(t, "runs", k.scheduled())
			if name != "to a suspend signal" && k.status.ObservedGeneration != 2 || name == "to a suspend signal" && !k.object.Suspend {
				t.Errorf("status %+v", k.status)
			}
		})
	}
}

// While a start waits for its time, what is heard of other runs may keep it from starting, and ends the wait. The rest does not.
func TestCronJobAStartThatWaitsForItsTimeGivesWayToRunsThatChangeThePlan(t *testing.T) {
	pausing, made := cron("* * * * *", allow), protocol.JobSeen{CronJobUID: hello.UID, Name: "by-hand", UID: "by-hand"}
	pausing.PauseAfterFailures = 1
	for name, test := range map[string]struct {
		spec schedule.Spec
		// ends is how the run of 00:00 ends, three seconds before that of 01:00; made says that a Job is made by hand then.
		ends job.Outcome
		made bool
		want []string
		// asked is how often the starts of these two are asked for: each once too early, and once more at its time.
		asked int
	}{
		"the failure after which it pauses":              {pausing, job.Failed, false, []string{"00:00"}, 3},
		"the end of a run that is Complete":              {pausing, job.Complete, false, []string{"00:00", "01:00"}, 4},
		"a failure of many":                              {cron("* * * * *", allow), job.Failed, false, []string{"00:00", "01:00"}, 4},
		"a Job made by hand that counts beside it":       {cron("* * * * *", forbid), job.Complete, true, []string{"00:00"}, 3},
		"a Job made by hand where any number may be run": {cron("* * * * *", allow), job.Complete, true, []string{"00:00", "01:00"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolding(t, 6*time.Second)
			h.full = true
			h.runs = []time.Duration{57 * time.Second}
			if test.made {
				h.runs = []time.Duration{20 * time.Second}
				h.signal(87*time.Second, protocol.JobSeenSignal, made)
			}
			h.ends = func(input protocol.JobInput) (job.Result, error) {
				return job.Result{UID: input.Job.UID, Outcome: test.ends}, nil
			}
			h.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if len(request.Look) > 0 {
					return &cronJobResult{Running: []schedule.Run{{Name: made.Name, UID: made.UID, Manual: true, Scheduled: h.environment.Now()}}}, nil
				}
				return nil, nil
			}
			asked := 0
			h.environment.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name == protocol.StartRunActivity {
					asked++
				}
			})
			h.runUntil(100*time.Second, test.spec)
			expectList(t, "runs", h.scheduled(), test.want...)
			if asked != test.asked {
				t.Errorf("a start was asked for %d times, want %d", asked, test.asked)
			}
		})
	}
}

// The call of a start goes on after the time of its run. What makes the run unwanted ends the call; a trigger does not.
func TestCronJobAStartWhoseTimeHasComeGivesWayToWhatMakesItUnwanted(t *testing.T) {
	edited := cron("0 0 1 1 *", allow)
	edited.Generation = 2
	for signal, test := range map[string]struct {
		argument any
		goesOn   bool
	}{
		protocol.TriggerSignal:     {nil, true},
		protocol.SuspendSignal:     {nil, false},
		protocol.CronJobSpecSignal: {protocol.CronJobSpec{CronJob: hello, Spec: edited}, false},
		protocol.DeletedSignal:     {protocol.Deleted{UID: hello.UID}, false},
	} {
		t.Run(signal, func(t *testing.T) {
			k := newCronJobKube(t)
			down := true
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if down && request.Start != nil {
					return nil, errors.New("connection refused")
				}
				return nil, nil
			}
			// The run of 10:00 is asked for half a minute after the workflow's start.
			var first string
			var last time.Time
			k.environment.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
				if info.ActivityType.Name != protocol.StartRunActivity {
					return
				}
				if first = cmp.Or(first, info.ActivityID); info.ActivityID == first {
					last = k.environment.Now()
				}
			})
			k.signal(45*time.Second, signal, test.argument)
			k.after(75*time.Second, func() { down = false })
			k.runUntil(10*time.Minute, cron("*/30 * * * *", allow))
			if lasted := last.Sub(cronStart); lasted > 50*time.Second != test.goesOn {
				t.Errorf("the call was carried out last after %s", lasted)
			}
			if starts := slices.Contains(k.scheduled(), "00:00"); starts != test.goesOn {
				t.Errorf("runs %v", k.scheduled())
			}
		})
	}
}
