package histories

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
)

// remade are scenarios in which a CronJob was moved, or is made again.
func remade() []scenario {
	moved := func(note string) map[string]string { return map[string]string{names.LastScheduleTimeAnnotation: note} }
	catchingUp := cron("*/10 * * * *", batchv1.ForbidConcurrent)
	catchingUp.CatchUp = ostinatov1.CatchUpAll
	return []scenario{
		{
			Name: "a CronJob that was moved in the winter is made from Git again", Spec: cron("0 2 * * *", batchv1.ForbidConcurrent),
			Begins: at("10:00:30"), Lasts: 20 * time.Minute, Notes: moved("2025-11-20T02:00:00Z"),
		},
		{
			Name: "a CronJob that was moved in the winter is made from Git again, and catches up all", Spec: catchingUp,
			Begins: at("10:00:30"), Lasts: 20 * time.Minute, Notes: moved("2025-11-20T02:00:00Z noted 2025-11-20T02:03:00Z"),
		},
		{
			Name: "a CronJob is moved right after the time of a run", Spec: cron("0 2 * * *", batchv1.ForbidConcurrent),
			Begins: at("02:03:00"), Lasts: 20 * time.Minute, Notes: moved("2026-01-04T02:00:00Z noted 2026-01-05T02:02:50Z"),
			Runs: []time.Time{at("02:00:00")},
		},
		{
			Name: "a CronJob that was moved is made again from its own export", Spec: cron("*/10 * * * *", batchv1.ForbidConcurrent),
			Begins: at("09:59:30"), Lasts: 45 * time.Minute, Notes: moved("2025-11-20T02:00:00Z noted 2025-11-20T02:03:00Z"),
			Steps: []step{faulty(15*time.Minute, madeAgain{})},
		},
		{
			Name: "a CronJob is made again from its own export while a run goes on", Spec: cron("*/10 * * * *", batchv1.ForbidConcurrent),
			Begins: at("09:59:30"), Lasts: 45 * time.Minute, Courses: []course{{Takes: 7 * time.Minute}},
			Steps: []step{faulty(14*time.Minute, madeAgain{})},
		},
	}
}
