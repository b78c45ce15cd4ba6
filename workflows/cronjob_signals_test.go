package workflows_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// arguments are what people give to a signal, rightly and wrongly.
var arguments = map[string]any{
	"none":         nil,
	"object":       map[string]string{"note": "holiday", "by": "ada"},
	"plain string": "holiday",
	"number":       42,
	"bytes":        []byte{0xff, 0x00, 0x01},
	"list":         []any{"a", 1, nil},
}

func TestCronJobSuspendAndResumeBySignal(t *testing.T) {
	for name, argument := range arguments {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.signal(40*time.Second, protocol.SuspendSignal, argument)
			k.after(45*time.Second, func() {
				if len(k.suspends) != 1 || !k.suspends[0].Suspend || k.suspends[0].Kind != "CronJob" {
					t.Errorf("writes: %+v", k.suspends)
				}
				if k.status.ObservedGeneration != 2 || k.status.NextScheduleTime != nil ||
					k.status.Conditions[1].Status != metav1.ConditionTrue {
					t.Errorf("status: %+v", k.status)
				}
			})
			k.signal(170*time.Second, protocol.ResumeSignal, argument)
			k.runUntil(220*time.Second, cron("* * * * *", allow))
			expectList(t, "runs: the last missed one at the resume", k.scheduled(), "00:00", "02:00", "03:00")
			if k.cancels != 1 {
				t.Errorf("%d timers cancelled, want the one at the suspend", k.cancels)
			}
			if k.jobs[1].Started.Sub(cronStart) != 170*time.Second {
				t.Errorf("resumed run started at %s", k.jobs[1].Started)
			}
			if name == "object" && (k.suspends[0].Note != protocol.SignalNote{Note: "holiday", By: "ada"}) {
				t.Errorf("note: %+v", k.suspends[0].Note)
			}
		})
	}
}

func TestCronJobTriggerBySignal(t *testing.T) {
	for name, argument := range arguments {
		if name == "bytes" || name == "list" {
			continue // TestACronJobRefusesATriggerWhoseArgumentCannotBeRead
		}
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.signal(10*time.Second, protocol.TriggerSignal, argument)
			k.runUntil(20*time.Second, cron("*/10 * * * *", allow))
			expectList(t, "runs", k.scheduled(), "+59:40")
			if k.status.LastScheduleTime != nil || len(k.children) != 1 {
				t.Errorf("status %+v, children %+v", k.status, k.children)
			}
		})
	}
	t.Run("while suspended", func(t *testing.T) {
		k := newCronJobKube(t)
		k.signal(10*time.Second, protocol.TriggerSignal, nil)
		spec := cron("* * * * *", allow)
		spec.Suspend = true
		k.runUntil(200*time.Second, spec)
		expectList(t, "runs", k.scheduled(), "+59:40")
	})
	t.Run("is refused under Forbid", func(t *testing.T) {
		k := newCronJobKube(t)
		k.signal(40*time.Second, protocol.TriggerSignal, "now!")
		k.runUntil(60*time.Second, cron("*/10 * * * *", forbid))
		expectList(t, "runs", k.scheduled(), "00:00")
		expectList(t, "events", k.reasons(), "JobAlreadyActive", "SawCompletedJob")
	})
}

// SetSuspend knows by the time of a wish that it was carried out.
func TestNoTwoWishesHaveTheSameTime(t *testing.T) {
	k := newCronJobKube(t)
	for _, signal := range []string{protocol.SuspendSignal, protocol.ResumeSignal, protocol.SuspendSignal} {
		k.signal(10*time.Second, signal, nil)
	}
	k.runUntil(30*time.Second, cron("*/10 * * * *", allow))
	if len(k.suspends) == 0 {
		t.Fatal("nothing was written")
	}
	for n, later := range k.suspends[1:] {
		if earlier := k.suspends[n]; !later.At.After(earlier.At) {
			t.Errorf("%+v and then %+v", earlier, later)
		}
	}
}

func TestCronJobTellsWhatAResumeTakesBack(t *testing.T) {
	for name, test := range map[string]struct {
		signal   string
		argument any
		want     protocol.SetSuspendRequest
	}{
		"a name and a reason": {protocol.ResumeSignal, map[string]any{"by": "ada", "reason": "upgrade"},
			protocol.SetSuspendRequest{Wish: protocol.Wish{Note: protocol.SignalNote{By: "ada"}, Reason: "upgrade"}}},
		"a reason alone":   {protocol.ResumeSignal, map[string]any{"reason": "upgrade"}, protocol.SetSuspendRequest{Wish: protocol.Wish{Reason: "upgrade"}}},
		"force":            {protocol.ResumeSignal, map[string]any{"force": true}, protocol.SetSuspendRequest{Wish: protocol.Wish{Force: true}}},
		"quoted once more": {protocol.ResumeSignal, `{"by": "ada", "force": true}`, protocol.SetSuspendRequest{Wish: protocol.Wish{Note: protocol.SignalNote{By: "ada"}, Force: true}}},
		"a suspend with a reason": {protocol.SuspendSignal, map[string]any{"reason": "upgrade"},
			protocol.SetSuspendRequest{Wish: protocol.Wish{Suspend: true, Note: protocol.SignalNote{Note: "upgrade"}}}},
		"a suspend with a note too": {protocol.SuspendSignal, map[string]any{"reason": "upgrade", "note": "a note"},
			protocol.SetSuspendRequest{Wish: protocol.Wish{Suspend: true, Note: protocol.SignalNote{Note: "a note"}}}},
		"nothing that is known": {protocol.ResumeSignal, map[string]any{"forced": true}, protocol.SetSuspendRequest{Wish: protocol.Wish{Unread: `there is no field "forced"; use note, by, reason, force`}}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.signal(5*time.Second, test.signal, test.argument)
			k.runUntil(10*time.Second, cron("*/10 * * * *", allow))
			test.want.Kind, test.want.Object, test.want.At = protocol.CronJobKind, hello, k.suspends[0].At
			if !reflect.DeepEqual(k.suspends[0], test.want) {
				t.Errorf("asked for %+v, want %+v", k.suspends[0], test.want)
			}
		})
	}
}

func TestCronJobTriggerMayAskForOverlap(t *testing.T) {
	for name, test := range map[string]struct {
		argument any
		runs     []string
		events   []string
	}{
		"allowed":                   {protocol.TriggerRequest{Overlap: "Allow"}, []string{"00:00", "+00:10"}, []string{"SawCompletedJob", "SawCompletedJob"}},
		"allowed, quoted":           {`{"overlap": "Allow"}`, []string{"00:00", "+00:10"}, []string{"SawCompletedJob", "SawCompletedJob"}},
		"queued":                    {map[string]string{"overlap": "Queue", "by": "ada"}, []string{"00:00", "+00:10"}, []string{"SawCompletedJob", "SawCompletedJob"}},
		"forbidden":                 {map[string]string{"overlap": "Forbid"}, []string{"00:00"}, []string{"JobAlreadyActive", "SawCompletedJob"}},
		"nothing said":              {map[string]any{"overlap": nil}, []string{"00:00"}, []string{"JobAlreadyActive", "SawCompletedJob"}},
		"a word that is no overlap": {map[string]string{"overlap": "always"}, []string{"00:00"}, []string{"TriggerRefused", "SawCompletedJob"}},
		"no word":                   {map[string]any{"overlap": []int{7}}, []string{"00:00"}, []string{"TriggerRefused", "SawCompletedJob"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.signal(40*time.Second, protocol.TriggerSignal, test.argument)
			k.runUntil(120*time.Second, cron("*/10 * * * *", forbid))
			expectList(t, "runs", k.scheduled(), test.runs...)
			expectList(t, "events", k.reasons(), test.events...)
		})
	}
}

func TestCronJobTakesTheObjectAsTheSuspendLeavesIt(t *testing.T) {
	k := newCronJobKube(t)
	edited := cron("*/2 * * * *", allow)
	edited.Generation = 2
	k.after(4*time.Second, func() { k.object = edited }) // an edit that has not reached the workflow
	k.signal(5*time.Second, protocol.SuspendSignal, nil)
	k.after(15*time.Second, func() {
		if d := k.described(); !d.Spec.Suspend || d.Spec.Schedule != "*/2 * * * *" {
			t.Errorf("spec: %+v", d.Spec)
		}
	})
	// The bridge's word about the edit is late: the object says otherwise.
	k.after(20*time.Second, func() {
		k.environment.SignalWorkflow(protocol.CronJobSpecSignal, protocol.CronJobSpec{CronJob: hello, Spec: edited})
	})
	k.runUntil(300*time.Second, cron("* * * * *", allow))
	expectList(t, "runs", k.scheduled())
	if k.status.ObservedGeneration != 3 {
		t.Errorf("observed %d", k.status.ObservedGeneration)
	}
}

// Somebody answers for the activities with a spec that no CronJob can have.
func TestCronJobOfAnUnusableSpecPauses(t *testing.T) {
	k := newCronJobKube(t)
	spec := cron("* * * * *", allow)
	unusable := spec
	unusable.FailedJobsHistoryLimit = -1
	k.object = unusable
	k.runUntil(200*time.Second, spec)
	if len(k.requests) > 20 {
		t.Errorf("%d calls in 200 s", len(k.requests))
	}
	expectList(t, "runs", k.scheduled())
}

// An etcd that was restored from a backup has objects of lower generations.
func TestCronJobTakesALowerGeneration(t *testing.T) {
	k := newCronJobKube(t)
	spec := cron("*/2 * * * *", allow)
	spec.Generation = 7
	restored := cron("* * * * *", allow)
	k.signalSpec(10*time.Second, restored)
	k.runUntil(45*time.Second, spec)
	expectList(t, "runs", k.scheduled(), "00:00")
	if k.status.ObservedGeneration != 1 {
		t.Errorf("observed %d", k.status.ObservedGeneration)
	}
}

func TestCronJobTakesSuspendAndResumeInTheirOrder(t *testing.T) {
	for name, test := range map[string]struct {
		signals []string
		want    bool
	}{
		"suspend, resume": {[]string{protocol.SuspendSignal, protocol.ResumeSignal}, false},
		"resume, suspend": {[]string{protocol.ResumeSignal, protocol.SuspendSignal}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, suspended := range []bool{false, true} {
				k := newCronJobKube(t)
				k.after(10*time.Second, func() {
					for _, signal := range test.signals {
						k.send(signal, nil)
					}
				})
				spec := cron("*/10 * * * *", allow)
				spec.Suspend = suspended
				k.runUntil(20*time.Second, spec)
				if k.object.Suspend != test.want {
					t.Errorf("suspended before: %v; suspended in the end: %v, want %v", suspended, k.object.Suspend, test.want)
				}
			}
		})
	}
}

// Both come in one workflow task, behind a signal that wakes the workflow.
func TestCronJobTakesSuspendAndResumeOfOneTaskInTheirOrder(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		for _, order := range [][]string{
			{protocol.ResumeSignal, protocol.SuspendSignal}, {protocol.SuspendSignal, protocol.ResumeSignal},
		} {
			k := newCronJobKube(t)
			k.after(10*time.Second, func() {
				k.environment.SignalWorkflowSkippingWorkflowTask(protocol.DeletedSignal, protocol.Deleted{UID: "another"})
				k.environment.SignalWorkflowSkippingWorkflowTask(order[0], nil)
				k.environment.SignalWorkflow(order[1], nil)
			})
			spec := cron("*/10 * * * *", allow)
			spec.Suspend = suspended
			k.runUntil(20*time.Second, spec)
			if want := order[1] == protocol.SuspendSignal; k.object.Suspend != want {
				t.Errorf("suspended before: %v; after %v: %v, want %v", suspended, order, k.object.Suspend, want)
			}
		}
	}
}

func TestCronJobSuspendThatIsRefusedIsTakenBack(t *testing.T) {
	k := newCronJobKube(t)
	k.refuseSuspend = temporal.NewNonRetryableApplicationError("cronjobs is forbidden", "Forbidden", nil)
	k.signal(10*time.Second, protocol.SuspendSignal, nil)
	k.runUntil(45*time.Second, cron("* * * * *", allow))
	expectList(t, "runs", k.scheduled(), "00:00")
	expectList(t, "events", k.reasons(), "FailedUpdate")
}

func TestCronJobSuspendDuringAnOutageHoldsBackRuns(t *testing.T) {
	k := newCronJobKube(t)
	k.refuseSuspend = errors.New("connection refused")
	k.signal(10*time.Second, protocol.SuspendSignal, nil)
	k.after(100*time.Second, func() { k.refuseSuspend = nil })
	k.runUntil(200*time.Second, cron("* * * * *", allow))
	expectList(t, "runs", k.scheduled())
	if k.status.ObservedGeneration != 2 {
		t.Errorf("status: %+v", k.status)
	}
}

func TestCronJobSignalsOfOneMomentAreSafe(t *testing.T) {
	for name, order := range map[string][]string{
		"suspend first": {protocol.SuspendSignal, protocol.ResumeSignal},
		"resume first":  {protocol.ResumeSignal, protocol.SuspendSignal},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			// While the call at the start is in flight.
			k.answer = func(cronJobRequest) (*cronJobResult, error) {
				if len(k.requests) == 1 {
					for _, signal := range order {
						k.send(signal, nil)
					}
				}
				return nil, nil
			}
			k.runUntil(100*time.Second, cron("* * * * *", allow))
			if len(k.suspends) != 2 || k.suspends[0].Suspend != (order[0] == protocol.SuspendSignal) {
				t.Errorf("writes: %+v", k.suspends)
			}
			want := []string{}
			if name == "suspend first" {
				want = []string{"00:00", "01:00"}
			}
			expectList(t, "the last word counts", k.scheduled(), want...)
		})
	}
}

func TestCronJobFollowsEdits(t *testing.T) {
	k := newCronJobKube(t)
	edit := func(after time.Duration, generation int64, expression string) {
		spec := cron(expression, allow)
		spec.Generation = generation
		k.signalSpec(after, spec)
	}
	edit(10*time.Second, 2, "*/3 * * * *")
	edit(20*time.Second, 3, "*/2 * * * *")
	k.runUntil(200*time.Second, cron("* * * * *", allow))
	expectList(t, "runs", k.scheduled(), "00:00", "02:00")
	if k.status.ObservedGeneration != 3 {
		t.Errorf("observed %d", k.status.ObservedGeneration)
	}
}

func TestCronJobWithABadScheduleRecoversByAnEdit(t *testing.T) {
	k := newCronJobKube(t)
	good := cron("* * * * *", allow)
	good.Generation = 2
	k.after(100*time.Second, func() {
		if c := k.status.Conditions[0]; c.Status != metav1.ConditionFalse || c.Reason != "UnparseableSchedule" {
			t.Errorf("condition: %+v", c)
		}
	})
	k.signalSpec(100*time.Second, good)
	k.runUntil(175*time.Second, cron("every monday", allow))
	expectList(t, "events", k.reasons(), "UnparseableSchedule", "SawCompletedJob")
	expectList(t, "runs", k.scheduled(), "02:00")
	if c := k.status.Conditions[0]; c.Status != metav1.ConditionTrue {
		t.Errorf("condition: %+v", c)
	}
}

func TestCronJobOfAnotherUIDStartsOver(t *testing.T) {
	newer := protocol.CronJobSpec{
		CronJob: protocol.ObjectReference{Namespace: "default", Name: "hello", UID: "uid-2"},
		Spec:    cron("*/5 * * * *", forbid),
	}
	k := newCronJobKube(t)
	k.after(19*time.Second, func() { k.gone = true })
	k.signal(20*time.Second, protocol.CronJobSpecSignal, newer)
	next := k.continuedAs(k.runInput(protocol.CronJobInput{
		CronJob: hello, Spec: cron("* * * * *", allow), SearchAttributes: true,
	}))
	if next.CronJob.UID != "uid-2" || next.State != nil || next.Spec.Schedule != "*/5 * * * *" || !next.SearchAttributes {
		t.Errorf("next: %+v", next)
	}

	t.Run("also when it comes with the deletion of the old one", func(t *testing.T) {
		k := newCronJobKube(t)
		k.answer = func(cronJobRequest) (*cronJobResult, error) {
			k.send(protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
			k.send(protocol.CronJobSpecSignal, newer)
			return nil, nil
		}
		next := k.continuedAs(k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("* * * * *", allow)}))
		if next.CronJob.UID != "uid-2" {
			t.Errorf("next: %+v", next)
		}
	})
	t.Run("but not to the CronJob of the other group", func(t *testing.T) {
		twin := newer
		twin.CronJob.Native = true
		k := newCronJobKube(t)
		k.after(19*time.Second, func() { k.gone = true })
		k.signal(20*time.Second, protocol.CronJobSpecSignal, twin)
		k.signal(25*time.Second, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
		if err := k.runInput(protocol.CronJobInput{CronJob: hello, Spec: cron("* * * * *", allow)}); err != nil {
			t.Errorf("ended with %v", err)
		}
	})
	t.Run("but not while its own object exists", func(t *testing.T) {
		k := newCronJobKube(t)
		k.signal(20*time.Second, protocol.CronJobSpecSignal, newer)
		k.signal(25*time.Second, protocol.DeletedSignal, protocol.Deleted{UID: "uid-2"})
		k.runUntil(40*time.Second, cron("* * * * *", allow))
		expectList(t, "runs", k.scheduled(), "00:00")
	})
}

func TestCronJobOverduePokeLooksAtTheClock(t *testing.T) {
	k := newCronJobKube(t)
	state := schedule.NewState(schedule.Identity{Namespace: "default", Name: "hello", UID: hello.UID, Created: cronStart.Add(-time.Hour)},
		k.status, ledger.Ledger{}, nil)
	k.signal(time.Second, protocol.CronJobSpecSignal, protocol.CronJobSpec{
		CronJob: hello, Spec: cron("*/10 * * * *", allow), Overdue: true,
	})
	k.signal(2*time.Second, protocol.DeletedSignal, protocol.Deleted{UID: hello.UID})
	if err := k.runInput(protocol.CronJobInput{
		CronJob: hello, Spec: cron("*/10 * * * *", allow), State: &state,
	}); err != nil {
		t.Fatal(err)
	}
	expectList(t, "runs", k.scheduled(), "50:00")
}

func TestCronJobJobSeenForAnotherUIDIsIgnored(t *testing.T) {
	k := newCronJobKube(t)
	k.after(40*time.Second, func() {
		k.closed[k.jobs[0].Name] = job.Result{UID: k.jobs[0].UID, Outcome: job.Failed}
		k.send(protocol.JobSeenSignal, protocol.JobSeen{CronJobUID: "another", Name: k.jobs[0].Name, UID: k.jobs[0].UID})
	})
	k.after(45*time.Second, func() {
		if len(k.described().Status.Active) != 1 {
			t.Error("the run was taken for ended")
		}
	})
	k.runUntil(47*time.Second, cron("* * * * *", allow))
}

func TestCronJobWritesItsStatusAgainWhenTheBridgeDoesNotFindIt(t *testing.T) {
	k := newCronJobKube(t)
	k.signalSpec(0, cron("* * * * *", allow)) // signal with start
	k.after(5*time.Second, func() {
		if len(k.requests) != 2 {
			t.Errorf("%d calls at the start, want 2", len(k.requests))
		}
	})
	k.signalSpec(10*time.Second, cron("* * * * *", allow))
	k.runUntil(20*time.Second, cron("* * * * *", allow))
	if len(k.requests) != 4 || k.requests[2].Status == nil { // the last one finds the object gone
		t.Errorf("requests: %+v", k.requests)
	}
}
