package histories

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// unanswered are scenarios in which the API server answers with an error, late, or not at all.
func unanswered() []scenario {
	catchingUp := cron("0 2 * * *", batchv1.AllowConcurrent)
	catchingUp.CatchUp = ostinatov1.CatchUpAll
	pausing := cron("*/5 * * * *", batchv1.ForbidConcurrent)
	pausing.PauseAfterFailures = ptr.To[int32](2)
	var hangs []step
	for minute := range 10 {
		hangs = append(hangs, faulty(time.Duration(minute)*time.Minute+15*time.Second, slow{Kind: "update cronjobs/status", Of: 1, Takes: 40 * time.Second, Lasts: 25 * time.Second}))
	}
	return []scenario{
		{
			Name: "a signal comes with an end that is looked at while requests take 40 s", Spec: cron("*/10 * * * *", batchv1.AllowConcurrent), Begins: at("09:59:30"), Lasts: 20 * time.Minute,
			Courses: []course{{Takes: 50 * time.Second}},
			Steps: []step{
				faulty(10*time.Minute+31*time.Second, temporalRestored{time.Minute}),
				faulty(10*time.Minute+50*time.Second, slow{Of: 1, Takes: 40 * time.Second, Lasts: 3 * time.Minute}),
				{At: 12*time.Minute + 20*time.Second, Does: "resume"},
			},
		},
		{
			Name: "a suspend while an admission webhook is away", Spec: catchingUp, Begins: at("01:45:00"), Lasts: 90 * time.Minute,
			Steps: []step{
				faulty(5*time.Minute, answers{Kind: "create jobs", Code: "webhook", Of: 1, Lasts: 70 * time.Minute}), {At: 25 * time.Minute, Does: "suspend"},
			},
		},
		{
			Name: "a suspend while creates are answered 500", Spec: catchingUp, Begins: at("01:45:00"), Lasts: 90 * time.Minute,
			Steps: []step{
				faulty(5*time.Minute, answers{Kind: "create jobs", Code: "500", Of: 1, Lasts: 70 * time.Minute}), {At: 25 * time.Minute, Does: "suspend"},
			},
		},
		{
			Name: "a suspend while Jobs can't be read", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent), Begins: at("00:00:30"), Lasts: 30 * time.Minute,
			Courses: []course{{Takes: 7 * time.Minute}},
			Steps: []step{
				faulty(5*time.Minute, answers{Kind: "get jobs", Code: "403", Of: 1, Lasts: 20 * time.Minute}), {At: 12 * time.Minute, Does: "suspend"},
			},
		},
		{
			Name: "an admission webhook is away until the next time", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent), Begins: at("00:00:30"), Lasts: 20 * time.Minute,
			Steps: []step{faulty(4*time.Minute, answers{Kind: "create jobs", Code: "webhook", Of: 1, Lasts: 7 * time.Minute})},
		},
		{
			Name: "a run can't be replaced", Spec: cron("*/5 * * * *", batchv1.ReplaceConcurrent), Begins: at("00:00:30"), Lasts: 20 * time.Minute,
			Courses: []course{{Takes: 7 * time.Minute}},
			Steps:   []step{faulty(6*time.Minute, answers{Kind: "delete jobs", Code: "403", Of: 1, Lasts: 10 * time.Minute})},
		},
		{
			Name: "creates land after they were answered", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent), Begins: at("00:00:30"), Lasts: 20 * time.Minute,
			Courses: []course{{Takes: 50 * time.Second}},
			Steps:   []step{faulty(4*time.Minute+25*time.Second, landsLate{After: 30 * time.Second, Lasts: 20 * time.Second})},
		},
		{
			Name: "creates land after they were answered, and a suspend comes between", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent),
			Begins: at("00:00:30"), Lasts: 20 * time.Minute, Courses: []course{{Takes: 50 * time.Second}},
			Steps: []step{
				faulty(4*time.Minute+25*time.Second, landsLate{After: 30 * time.Second, Lasts: 40 * time.Second}),
				{At: 4*time.Minute + 35*time.Second, Does: "suspend"}, {At: 11 * time.Minute, Does: "resume"},
			},
		},
		{
			Name: "creates land after they were answered, and the next time comes before", Spec: cron("* * * * *", batchv1.ForbidConcurrent),
			Begins: at("00:00:30"), Lasts: 8 * time.Minute, Courses: []course{{Takes: 50 * time.Second}},
			Steps: []step{faulty(2*time.Minute+25*time.Second, landsLate{After: 30 * time.Second, Lasts: 65 * time.Second})},
		},
		{
			Name: "creates take 33 seconds", Spec: cron("*/5 * * * *", batchv1.AllowConcurrent), Begins: at("00:00:30"), Lasts: 20 * time.Minute,
			Prompt: 45 * time.Second,
			Steps:  []step{faulty(4*time.Minute, slow{Kind: "create jobs", Of: 1, Takes: 33 * time.Second, Lasts: 12 * time.Minute})},
		},
		{
			Name: "writes of the status hang before each run", Spec: cron("* * * * *", batchv1.AllowConcurrent), Begins: at("00:00:30"), Lasts: 10 * time.Minute,
			Prompt: time.Second, Steps: hangs, Courses: []course{{Takes: 59 * time.Second}},
		},
		{
			Name: "the write of a trigger's status hangs before a run", Spec: cron("* * * * *", batchv1.AllowConcurrent), Begins: at("00:00:30"), Lasts: 6 * time.Minute,
			Prompt: time.Second, Courses: []course{{Takes: 20 * time.Second}}, Lead: 4 * time.Second,
			Steps: []step{
				faulty(2*time.Minute+15*time.Second, slow{Kind: "update cronjobs/status", Of: 1, Takes: 40 * time.Second, Lasts: 20 * time.Second}),
				{At: 2*time.Minute + 18*time.Second, Does: "trigger"},
				faulty(4*time.Minute+15*time.Second, slow{Kind: "update cronjobs/status", Of: 1, Takes: 40 * time.Second, Lasts: 20 * time.Second}),
				{At: 4*time.Minute + 29*time.Second, Does: "trigger"},
			},
		},
		{
			Name: "a trigger is taken back whose create has no answer", Spec: cron("*/5 * * * *", batchv1.AllowConcurrent), Begins: at("00:00:30"),
			Lasts: 10 * time.Minute, Courses: []course{{Takes: 5 * time.Second}},
			Steps: []step{
				faulty(75*time.Second, slow{Kind: "create jobs", Of: 1, Takes: 40 * time.Second, Lasts: 10 * time.Second}), {At: 80 * time.Second, Does: "trigger"},
				faulty(83*time.Second, takesBack{}), {At: 85 * time.Second, Does: "resume"},
			},
		},
		{
			Name: "each create of a trigger is answered 500", Spec: cron("*/5 * * * *", ostinatov1.QueueConcurrent), Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Prompt: 70 * time.Second, Courses: []course{{Takes: 5 * time.Second}},
			Steps: []step{faulty(0, answers{Kind: triggered, Code: "500", Of: 1, Lasts: time.Hour}), {At: 4*time.Minute + 20*time.Second, Does: "trigger"}},
		},
		{
			Name: "admission hangs in another namespace", Spec: cron("*/5 * * * *", batchv1.AllowConcurrent), Begins: at("00:00:30"), Lasts: 12 * time.Minute,
			Prompt: 2 * time.Second, Steps: []step{faulty(0, crowd{Of: 70, Hangs: 30 * time.Second, Schedule: "4-59/5 * * * *"})},
		},
		{
			Name: "lists of Jobs take 40 seconds", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent), Begins: at("00:00:30"), Lasts: 12 * time.Minute,
			Steps: []step{
				faulty(time.Minute, slow{Kind: "list jobs", Of: 1, Takes: 40 * time.Second, Lasts: 12 * time.Minute}), faulty(2*time.Minute, begunAnew{}),
			},
			Runs: []time.Time{at("00:05:00"), at("00:10:00")},
		},
		{
			Name: "a run is Complete right before it is replaced", Spec: cron("*/5 * * * *", batchv1.ReplaceConcurrent), Begins: at("00:00:30"), Lasts: 17 * time.Minute,
			Courses: []course{{Takes: 7 * time.Minute}}, Steps: []step{faulty(6*time.Minute, endsMeanwhile{})},
		},
		{
			Name: "a CronJob is to be suspended after failures that its status can't say", Spec: pausing, Begins: at("00:00:30"), Lasts: 40 * time.Minute,
			Courses: []course{{Takes: 5 * time.Second, Fails: true}},
			Steps:   []step{faulty(time.Minute, answers{Kind: "update cronjobs/status", Code: "403", Of: 1, Lasts: 35 * time.Minute})},
			Runs:    []time.Time{at("00:05:00"), at("00:10:00"), at("00:20:00"), at("00:30:00")},
		},
		{
			Name: "a worker stands still when a run is due", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent), Begins: at("00:00:30"), Lasts: 12 * time.Minute,
			Lead: 4 * time.Second, Steps: []step{faulty(4*time.Minute+29*time.Second, standsStill{time.Minute})},
		},
		{
			Name: "Temporal misses heartbeats of a start", Spec: cron("*/5 * * * *", batchv1.ForbidConcurrent), Begins: at("00:00:30"), Lasts: 12 * time.Minute,
			Lead: 4 * time.Second,
			Steps: []step{
				faulty(4*time.Minute+27*time.Second, deaf{30 * time.Second}),
				faulty(4*time.Minute+27*time.Second, slow{Kind: "create jobs", Of: 1, Takes: 15 * time.Second, Lasts: 20 * time.Second, Lands: true}),
			},
		},
	}
}
