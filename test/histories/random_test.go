package histories

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// schedules are such that runs are few minutes apart, so that a retry may come before the next one or after it.
var schedules = []string{"*/5 * * * *", "*/3 * * * *", "2-59/5 * * * *", "0,7,20,35 * * * *", "*/10 * * * *"}

var policies = []batchv1.ConcurrencyPolicy{
	batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent, ostinatov1.QueueConcurrent,
}

// drawScenario draws what happens to a CronJob.
func drawScenario(t *rapid.T) scenario {
	s := scenario{
		Name: "random", Begins: at("09:59:30"),
		Lasts: time.Duration(rapid.IntRange(8, 25).Draw(t, "minutes")) * time.Minute,
		Lead:  rapid.SampledFrom([]time.Duration{0, 2 * time.Second, 4 * time.Second}).Draw(t, "lead"),
		Spec:  cron(rapid.SampledFrom(schedules).Draw(t, "schedule"), rapid.SampledFrom(policies).Draw(t, "policy")),

		Believes: rapid.Bool().Draw(t, "believes"),
	}
	s.Spec.CatchUp = rapid.SampledFrom([]ostinatov1.CatchUpPolicy{"", ostinatov1.CatchUpAll, ostinatov1.CatchUpNone}).Draw(t, "catchUp")
	s.Spec.StartingDeadlineSeconds = rapid.SampledFrom([]*int64{nil, nil, ptr.To[int64](100), ptr.To[int64](400)}).Draw(t, "deadline")
	s.Spec.SuccessfulJobsHistoryLimit = rapid.SampledFrom([]*int32{nil, ptr.To[int32](0), ptr.To[int32](1)}).Draw(t, "successful")
	s.Spec.FailedJobsHistoryLimit = rapid.SampledFrom([]*int32{nil, ptr.To[int32](0)}).Draw(t, "failed")
	s.Courses = rapid.SliceOfN(rapid.Custom(drawCourse), 1, 4).Draw(t, "courses")
	for range rapid.IntRange(0, 6).Draw(t, "steps") {
		s.Steps = append(s.Steps, drawStep(t, int(s.Lasts/time.Minute)))
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 2, 3}).Draw(t, "faults") {
		s.Steps = append(s.Steps, drawFault(t, s)...)
	}
	s.Steps = atMostOne(s.Steps)
	switch rapid.IntRange(0, 5).Draw(t, "bounds") {
	case 5:
		s.Native, s.Spec.CatchUp = true, ""
		if s.Spec.ConcurrencyPolicy == ostinatov1.QueueConcurrent {
			s.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
		}
	case 3, 4:
		drawBounds(t, &s.Spec)
	}
	for range rapid.SampledFrom([]int{0, 1, 1, 2}).Draw(t, "manual") {
		minute := rapid.IntRange(0, int(s.Lasts/time.Minute)-2).Draw(t, "asked at")
		distance := rapid.SampledFrom([]time.Duration{-1500 * time.Millisecond, 4500 * time.Millisecond, 25 * time.Second}).Draw(t, "asked beside")
		s.Steps = append(s.Steps, drawManual(t, 30*time.Second+time.Duration(minute)*time.Minute+distance, s.Spec)...)
	}
	if s.Native {
		s.Steps = slices.DeleteFunc(s.Steps, func(one step) bool {
			return one.Called == repolicied(0, ostinatov1.QueueConcurrent).Called && one.Edit != nil
		})
	}
	drawSenders(t, s.Steps)
	s.Losses = rapid.SliceOfN(rapid.IntRange(0, 999), drawnLosses, drawnLosses).Draw(t, "losses")
	return s
}

// drawnLosses is after how many drawn writes of a history the process is lost, where not after each of them.
const drawnLosses = 3

func drawCourse(t *rapid.T) course {
	takes := []time.Duration{5 * time.Second, 50 * time.Second, 178 * time.Second, 298 * time.Second, 7 * time.Minute, 12 * time.Minute}
	return course{Takes: rapid.SampledFrom(takes).Draw(t, "takes"), Fails: rapid.IntRange(0, 3).Draw(t, "fails") == 3}
}

// drawStep draws what somebody does, mostly close to a time at which runs are due.
func drawStep(t *rapid.T, minutes int) step {
	minute := rapid.IntRange(0, minutes-2).Draw(t, "minute")
	distance := rapid.SampledFrom([]time.Duration{-3500 * time.Millisecond, -1500 * time.Millisecond, -500 * time.Millisecond, 500 * time.Millisecond,
		4500 * time.Millisecond, 9500 * time.Millisecond, 25 * time.Second}).Draw(t, "distance")
	does := step{At: 30*time.Second + time.Duration(minute)*time.Minute + distance}
	kinds := []string{"suspend", "resume", "trigger", "trigger update", "trigger often", "refuse", "outage", "accept", "delete", "continue"}
	edits := []string{"suspend edit", "resume edit", "schedule", "policy", "template"}
	does.Does = rapid.SampledFrom(append(edits, kinds...)).Draw(t, "kind")
	switch does.Does {
	case "suspend edit":
		does = suspending(does.At)
	case "resume edit":
		does = resuming(does.At)
	case "schedule":
		does = rescheduled(does.At, rapid.SampledFrom(schedules).Draw(t, "to"))
	case "policy":
		does = repolicied(does.At, rapid.SampledFrom(policies).Draw(t, "to"))
	case "template":
		does = templated(does.At)
	default:
		return does
	}
	does.Heard = rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute, -1}).Draw(t, "heard")
	if rapid.IntRange(0, 3).Draw(t, "within") == 3 {
		// The attempt that repeats this one after a crash reads the edit. So that the history without the crash is
		// the same, the bridge tells it at once.
		does = does.heard(0).within()
	}
	return does
}

// drawBounds draws bounds of the CronJob that most do without.
func drawBounds(t *rapid.T, spec *ostinatov1.CronJobSpec) {
	spec.MaxConcurrent = rapid.SampledFrom([]*int32{nil, ptr.To[int32](2)}).Draw(t, "max concurrent")
	if spec.ConcurrencyPolicy == ostinatov1.QueueConcurrent {
		spec.QueueLimit = rapid.SampledFrom([]*int32{nil, ptr.To[int32](1)}).Draw(t, "queue limit")
	}
	if spec.CatchUp == ostinatov1.CatchUpAll {
		spec.CatchUpLimit = rapid.SampledFrom([]*int32{nil, ptr.To[int32](2)}).Draw(t, "catch up limit")
	}
	spec.PauseAfterFailures = rapid.SampledFrom([]*int32{nil, ptr.To[int32](1), ptr.To[int32](2)}).Draw(t, "pauses after")
}

// atMostOne leaves out all restores of etcd but the first: a later one may bring back what the one before has taken away. It leaves out
// forged statuses beside what a workflow forgets: it can't tell which of the two has brought about a later status.
func atMostOne(steps []step) []step {
	restored := false
	forgets := slices.ContainsFunc(steps, func(one step) bool {
		_, forges := one.Fault.(forges)
		return one.Fault != nil && !forges && one.Fault.trait().forgets
	})
	return slices.DeleteFunc(steps, func(one step) bool {
		_, restores := one.Fault.(etcdRestored)
		_, forges := one.Fault.(forges)
		again := restores && restored
		restored = restored || restores
		return again || forges && forgets
	})
}
