package cronjobs

import batchv1 "k8s.io/api/batch/v1"

// condition is how a CronJob and its Jobs are when a controller begins.
type condition struct {
	name    string
	options []option
}

const (
	justDue = "11:00:02"
	longDue = "11:40"
	notDue  = "10:30"
	// stop is after the time that comes next.
	stop = "12:05"
)

func world(name, begin string, options ...option) condition {
	return condition{name, append([]option{between(begin, stop)}, options...)}
}

var (
	ranOnce = []option{last("10:00"), job("10:00", ended(batchv1.JobComplete, "10:05"))}
	runs    = []option{last("10:00"), active("10:00"), job("10:00")}
	// forgotten is a run that was started before its status was written.
	forgotten = []option{job("10:00")}
	unlisted  = []option{last("10:00"), job("10:00")}
	endedOnly = []option{last("10:00"), active("10:00"), job("10:00", ended(batchv1.JobComplete, "10:05"))}
	failed    = []option{last("10:00"), active("10:00"), job("10:00", ended(batchv1.JobFailed, "10:05"))}
	missing   = []option{last("10:00"), active("10:00")}
	leaving   = []option{last("10:00"), active("10:00"), job("10:00", terminating)}
	twoRun    = []option{last("10:00"), active("09:00"), active("10:00"), job("09:00"), job("10:00")}
)

// The conditions of upstream's own table, and more. The CronJob was created at 09:30 and runs every hour.
var conditions = []condition{
	world("never ran, not due", "09:45"),
	world("never ran, just due", "10:00:02"),
	world("never ran, due for long", "10:40"),
	world("never ran, missed two", longDue),
	world("ran, not due", notDue, ranOnce...),
	world("ran, just due", justDue, ranOnce...),
	world("ran, due for long", longDue, ranOnce...),
	world("runs, not due", notDue, runs...),
	world("runs, just due", justDue, runs...),
	world("runs, due for long", longDue, runs...),
	world("two run, just due", justDue, twoRun...),
	world("runs and is in no status, not due", notDue, forgotten...),
	world("runs and is not listed, just due", justDue, unlisted...),
	world("complete and listed, not due", notDue, endedOnly...),
	world("complete and listed, just due", justDue, endedOnly...),
	world("failed and listed, just due", justDue, failed...),
	world("listed and missing, not due", notDue, missing...),
	world("listed and missing, just due", justDue, missing...),
	world("terminating, just due", justDue, leaving...),
}

var (
	policies  = []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent}
	deadlines = []struct {
		name  string
		edits []edit
	}{
		{"no deadline", nil},
		{"deadline 10 s", []edit{deadline(10)}},
		{"deadline 3 h", []edit{deadline(3 * 3600)}},
	}
)

// matrix is each condition under each policy with each deadline, and suspended.
func matrix() []scenario {
	var all []scenario
	for _, c := range conditions {
		for _, p := range policies {
			for _, d := range deadlines {
				all = append(all, newScenario(title(c.name, p, d.name), append(c.options, spec(policy(p)), spec(d.edits...))...))
			}
			all = append(all, newScenario(title(c.name, p, "suspended"), append(c.options, spec(policy(p), suspend))...))
		}
		all = append(all, newScenario(title(c.name, "being deleted"), append(c.options, spec(beingDeleted))...))
	}
	return all
}
