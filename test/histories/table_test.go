package histories

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

func at(clock string) time.Time {
	parsed, err := time.Parse(time.DateTime, "2026-01-05 "+clock)
	if err != nil {
		panic(err)
	}
	return parsed
}

func cron(expression string, policy batchv1.ConcurrencyPolicy) ostinatov1.CronJobSpec {
	return ostinatov1.CronJobSpec{Schedule: expression, TimeZone: ptr.To("UTC"), ConcurrencyPolicy: policy}
}

// table are scenarios in which a run was lost, done twice or accounted for wrongly once, or may be.
func table() []scenario { return slices.Concat(ordinary(), losses(), unanswered(), remade(), called()) }

func ordinary() []scenario {
	deadline := cron("0 2 * * *", batchv1.ForbidConcurrent)
	deadline.StartingDeadlineSeconds = ptr.To[int64](600)
	hasty := cron("*/5 * * * *", batchv1.ForbidConcurrent)
	hasty.StartingDeadlineSeconds = ptr.To[int64](5)
	forgetful := cron("*/10 * * * *", batchv1.AllowConcurrent)
	forgetful.SuccessfulJobsHistoryLimit = ptr.To[int32](0)
	catchingUp := forgetful
	catchingUp.CatchUp = ostinatov1.CatchUpAll
	limited := cron("*/5 * * * *", batchv1.AllowConcurrent)
	limited.MaxConcurrent = ptr.To[int32](2)
	pruning := cron("*/5 * * * *", batchv1.AllowConcurrent)
	pruning.SuccessfulJobsHistoryLimit, pruning.FailedJobsHistoryLimit = ptr.To[int32](1), ptr.To[int32](0)
	return []scenario{
		{
			Name: "a refused run that is blocked for a moment", Spec: cron("0 2 * * *", batchv1.ForbidConcurrent),
			Begins: at("01:59:30"), Lasts: 10 * time.Minute,
			Steps: []step{
				{At: 20 * time.Second, Does: "refuse"}, {At: 190 * time.Second, Does: "accept"},
				{At: 195 * time.Second, Does: "trigger"},
			},
		},
		{
			Name: "an edit that nobody tells, of a schedule that names the time too", Spec: cron("0 2 * * *", batchv1.ForbidConcurrent),
			Begins: at("01:20:00"), Lasts: 45 * time.Minute,
			Steps: []step{rescheduled(10*time.Minute, "0 2,14 * * *").silent()},
		},
		{
			Name: "an edit while a start is held, of a schedule that names the time too", Spec: cron("0 2 * * *", batchv1.ForbidConcurrent),
			Begins: at("01:59:30"), Lasts: 5 * time.Minute, Lead: 4 * time.Second,
			Steps: []step{rescheduled(28*time.Second, "0 2,14 * * *").heard(time.Second)},
		},
		{
			Name: "an edit while a start is held, of a schedule that does not name the time", Spec: cron("0 2 * * *", batchv1.ForbidConcurrent),
			Begins: at("01:59:30"), Lasts: 5 * time.Minute, Lead: 4 * time.Second,
			Steps: []step{rescheduled(28*time.Second, "0 14 * * *").silent()},
		},
		{
			Name: "Temporal forgets two runs whose Jobs are gone", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{faulty(35*time.Minute, temporalRestored{20 * time.Minute})},
		},
		{
			Name: "Temporal forgets runs of a CronJob that catches up all", Spec: catchingUp,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{faulty(35*time.Minute, temporalRestored{20 * time.Minute})},
		},
		{
			Name: "the workflow starts anew while a run goes on", Spec: cron("*/10 * * * *", batchv1.ForbidConcurrent),
			Begins: at("00:00:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 12 * time.Minute}},
			Steps: []step{faulty(15*time.Minute, begunAnew{})},
		},
		{
			Name: "a run that is to be replaced is Complete before", Spec: cron("*/5 * * * *", batchv1.ReplaceConcurrent),
			Begins: at("00:00:30"), Lasts: 17 * time.Minute, Lead: 4 * time.Second, Courses: []course{{Takes: 298 * time.Second}},
		},
		{
			Name: "a run is replaced", Spec: cron("*/5 * * * *", batchv1.ReplaceConcurrent),
			Begins: at("00:00:30"), Lasts: 12 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}},
		},
		{
			Name: "a run is replaced right before an edit", Spec: cron("*/5 * * * *", batchv1.ReplaceConcurrent),
			Begins: at("00:00:30"), Lasts: 17 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}},
			Steps: []step{resuming(560 * time.Second).within()},
		},
		{
			Name: "an edit of the schedule during a suspension", Spec: cron("0 * * * *", batchv1.AllowConcurrent),
			Begins: at("09:30:00"), Lasts: 6 * time.Hour,
			Steps: []step{suspending(time.Hour), rescheduled(285*time.Minute, "30 * * * *"), resuming(330 * time.Minute)},
		},
		{
			Name: "a suspension that is noticed when the run is due", Spec: deadline,
			Begins: at("01:20:00"), Lasts: 9 * time.Hour,
			Steps: []step{suspending(10 * time.Minute).silent(), resuming(520 * time.Minute)},
		},
		{
			Name: "a suspension right after the create", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent),
			Begins: at("00:00:30"), Lasts: 20 * time.Minute,
			Steps: []step{suspending(275 * time.Second), resuming(700 * time.Second)},
		},
		{
			Name: "a signal right after an edit, and after one that was not announced", Spec: cron("*/5 * * * *", batchv1.AllowConcurrent),
			Begins: at("09:59:30"), Lasts: 8 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}, {Takes: 5 * time.Second}},
			Steps: []step{
				templated(34500 * time.Millisecond).within(), suspending(154500 * time.Millisecond).silent(),
				templated(206500 * time.Millisecond), {At: 209500 * time.Millisecond, Does: "resume"},
			},
		},
		{
			Name: "signals right before and after the time of a run", Spec: cron("*/5 * * * *", ostinatov1.QueueConcurrent),
			Begins: at("00:00:30"), Lasts: 20 * time.Minute, Lead: 4 * time.Second, Courses: []course{{Takes: 100 * time.Second}},
			Steps: []step{
				{At: 268500 * time.Millisecond, Does: "suspend"}, {At: 269 * time.Second, Does: "resume"},
				{At: 275 * time.Second, Does: "trigger"}, {At: 570500 * time.Millisecond, Does: "suspend"}, {At: 610 * time.Second, Does: "resume"},
			},
		},
		{
			Name: "runs wait in the queue, and one Job is deleted", Spec: cron("*/5 * * * *", ostinatov1.QueueConcurrent),
			Begins: at("00:00:30"), Lasts: 30 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}, {Takes: 20 * time.Minute}, {Takes: 20 * time.Second}},
			Steps: []step{{At: 22 * time.Minute, Does: "delete"}},
		},
		{
			Name: "runs wait in the queue that an edit does away with", Spec: cron("*/5 * * * *", ostinatov1.QueueConcurrent),
			Begins: at("00:00:30"), Lasts: 30 * time.Minute, Courses: []course{{Takes: 18 * time.Minute}, {Takes: 20 * time.Second}},
			Steps: []step{repolicied(16*time.Minute, batchv1.ForbidConcurrent)},
		},
		{
			Name: "a quota that the first attempt has used up", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent),
			Begins: at("00:00:30"), Lasts: 12 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}},
			Steps: []step{{At: 275 * time.Second, Does: "refuse"}, {At: 565 * time.Second, Does: "accept"}},
		},
		{
			Name: "as many runs go on as may, and the API server is away for a while", Spec: limited,
			Begins: at("00:00:30"), Lasts: 25 * time.Minute, Courses: []course{{Takes: 11 * time.Minute}},
			Steps: []step{{At: 290 * time.Second, Does: "outage"}, {At: 320 * time.Second, Does: "accept"}},
		},
		{
			Name: "a template that the API server can't be asked about before it has run", Spec: cron("*/5 * * * *", batchv1.AllowConcurrent),
			Begins: at("00:00:30"), Lasts: 12 * time.Minute,
			Steps: []step{{At: 255 * time.Second, Does: "outage"}, templated(258 * time.Second), {At: 269 * time.Second, Does: "accept"}},
		},
		{
			Name: "more triggers than the status has rows", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent),
			Begins: at("00:00:30"), Lasts: 12 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}},
			Steps: []step{{At: 300 * time.Second, Does: "trigger often"}, {At: 570 * time.Second, Does: "resume"}},
		},
		{
			Name: "triggers come while the worker is away that has skipped one and heard of an edit with it", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent),
			Begins: at("00:00:30"), Lasts: 12 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}},
			Steps: []step{suspending(290 * time.Second).silent(), {At: 300 * time.Second, Does: "trigger often"}},
		},
		{
			Name: "a deadline that a crash outlasts", Spec: hasty, Begins: at("00:00:30"), Lasts: 12 * time.Minute,
		},
		{
			Name: "the history is pruned", Spec: pruning,
			Begins: at("00:00:30"), Lasts: 22 * time.Minute, Courses: []course{{Takes: 5 * time.Second}, {Takes: 5 * time.Second, Fails: true}, {Takes: 5 * time.Second}},
		},
	}
}
