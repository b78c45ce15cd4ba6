package histories

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// losses are scenarios in which Temporal or etcd forgets what has come since some time.
func losses() []scenario {
	forgetful := cron("*/10 * * * *", batchv1.AllowConcurrent)
	bounded := cron("*/3 * * * *", batchv1.AllowConcurrent)
	bounded.CatchUp, bounded.StartingDeadlineSeconds, bounded.MaxConcurrent = ostinatov1.CatchUpNone, ptr.To[int64](400), ptr.To[int32](2)
	forgetful.SuccessfulJobsHistoryLimit = ptr.To[int32](0)
	alone := cron("*/10 * * * *", batchv1.ForbidConcurrent)
	alone.SuccessfulJobsHistoryLimit = ptr.To[int32](0)
	return []scenario{
		{
			Name: "Temporal forgets runs of a CronJob that is suspended then", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{suspending(31 * time.Minute), faulty(35*time.Minute, temporalRestored{23 * time.Minute}), resuming(38 * time.Minute)},
		},
		{
			Name: "Temporal forgets runs, and an edit of the template", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{templated(31 * time.Minute), faulty(35*time.Minute, temporalRestored{23 * time.Minute})},
		},
		{
			Name: "Temporal forgets that a run has ended", Spec: alone,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 5 * time.Minute}},
			Steps: []step{faulty(35*time.Minute+30*time.Second, temporalRestored{23 * time.Minute})},
		},
		{
			Name: "Temporal forgets a run that goes on", Spec: alone,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 12 * time.Minute}},
			Steps: []step{faulty(9*time.Minute+35*time.Second, temporalRestored{time.Minute})},
		},
		{
			Name: "Temporal forgets that times of a CronJob of batch/v1 were skipped", Spec: cron("*/10 * * * *", batchv1.ForbidConcurrent), Native: true,
			Begins: at("00:00:30"), Lasts: 75 * time.Minute, Courses: []course{{Takes: 45 * time.Minute}},
			Steps: []step{faulty(50*time.Minute, temporalRestored{14 * time.Minute})},
		},
		{
			Name: "Temporal forgets a create without an answer, whose Job is gone before it is carried out", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 3 * time.Second}},
			Steps: []step{
				faulty(29*time.Minute+25*time.Second, landsLate{After: 30 * time.Second, Lasts: 8 * time.Second}),
				faulty(29*time.Minute+40*time.Second, temporalRestored{time.Minute}),
			},
		},
		{
			Name: "Temporal forgets a trigger", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{
				{At: 25 * time.Minute, Does: "trigger"}, faulty(35*time.Minute, temporalRestored{23 * time.Minute}), {At: 36 * time.Minute, Does: "trigger"},
			},
		},
		{
			Name: "Temporal forgets runs, and a backfill comes right after that", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{
				{At: 32 * time.Minute, Does: "trigger"}, faulty(35*time.Minute, temporalRestored{4 * time.Minute}),
				faulty(35*time.Minute+500*time.Millisecond, backfills{Since: 20 * time.Minute, Parallelism: 1}),
			},
		},
		{
			Name: "the workflow is reset, and a trigger comes after that", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{
				{At: 25 * time.Minute, Does: "trigger"}, faulty(35*time.Minute, workflowReset{23 * time.Minute}), {At: 36 * time.Minute, Does: "trigger"},
			},
		},
		{
			Name: "a crash, after which others delete the Job that ran, leaves a backfill in force", Spec: bounded,
			Begins: at("09:59:30"), Lasts: 9 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}},
			Steps: []step{
				{At: 34500 * time.Millisecond, Does: "outage"}, {At: 210500 * time.Millisecond, Does: "delete"},
				faulty(34500*time.Millisecond, backfills{Since: 36 * time.Minute, To: 32 * time.Minute, Parallelism: 1, Overlap: batchv1.AllowConcurrent}),
				faulty(214500*time.Millisecond, cancels{}),
			},
		},
		{
			Name: "the workflow is reset to when it had not heard of all triggers", Spec: cron("2-59/5 * * * *", batchv1.ReplaceConcurrent),
			Begins: at("09:59:30"), Lasts: 12 * time.Minute, Courses: []course{{Takes: 5 * time.Minute}},
			Steps: []step{{At: 90 * time.Second, Does: "trigger often"}, faulty(274*time.Second, workflowReset{179 * time.Second})},
		},
		{
			Name: "the workflow is reset to before triggers that were updates", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{
				{At: 15 * time.Minute, Does: "trigger update"}, {At: 25 * time.Minute, Does: "trigger update"},
				faulty(35*time.Minute, workflowReset{36 * time.Minute}), {At: 36 * time.Minute, Does: "trigger update"},
			},
		},
		{
			Name: "the workflow is reset to before a suspension that is over", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 75 * time.Minute,
			Steps: []step{
				{At: 15 * time.Minute, Does: "suspend"}, resuming(22 * time.Minute), faulty(55*time.Minute, workflowReset{45 * time.Minute}),
			},
		},
		{
			Name: "the workflow is reset that has begun anew when a trigger came", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{
				faulty(14*time.Minute, slow{Kind: "list jobs", Of: 1, Takes: 20 * time.Second, Lasts: 2 * time.Minute}),
				faulty(15*time.Minute, begunAnew{}), {At: 15*time.Minute + 10*time.Second, Does: "trigger"},
				faulty(35*time.Minute, workflowReset{10 * time.Minute}),
			},
		},
		{
			Name: "the workflow is reset over one write of the status", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{
				faulty(15*time.Minute, slow{Kind: "update cronjobs/status", Of: 1, Takes: 40 * time.Second, Lasts: 5 * time.Second}),
				{At: 15*time.Minute + time.Second, Does: "suspend"}, {At: 15*time.Minute + 3*time.Second, Does: "resume"},
				faulty(17*time.Minute, workflowReset{2*time.Minute + 30*time.Second}),
			},
		},
		{
			Name: "the workflow is reset while a run goes on", Spec: alone,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 12 * time.Minute}},
			Steps: []step{faulty(15*time.Minute, workflowReset{10 * time.Minute})},
		},
		{
			Name: "etcd forgets runs whose Jobs are gone", Spec: forgetful,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute,
			Steps: []step{faulty(35*time.Minute, etcdRestored{20 * time.Minute})},
		},
		{
			Name: "etcd forgets a run that goes on", Spec: alone,
			Begins: at("00:00:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 12 * time.Minute}},
			Steps: []step{faulty(12*time.Minute, etcdRestored{5 * time.Minute})},
		},
		{
			Name: "a Job is made by hand for a time behind one that waits", Spec: cron("*/10 * * * *", ostinatov1.QueueConcurrent),
			Begins: at("00:00:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 25 * time.Minute}, {Takes: 20 * time.Second}},
			Steps: []step{{At: 31 * time.Minute, Does: "by hand"}},
			// A workflow that begins anew from the status goes on after lastScheduleTime, which is that of the Job by hand.
			Losses: []int{},
		},
	}
}
