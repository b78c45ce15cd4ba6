package cronjobs

import "regexp"

// difference is what Ostinato does in another way, with the row of docs/compat.md that says why.
type difference struct {
	name string
	// scenarios and lines say where it is met; a line begins with - where only upstream does it, with + where only Ostinato does.
	// Which lines those are, to the second, is in testdata/differences.txt.
	scenarios, lines *regexp.Regexp
	// row is how the row of docs/compat.md begins.
	row string
}

func differs(name, scenarios, lines, row string) difference {
	return difference{name, regexp.MustCompile(scenarios), regexp.MustCompile(lines), "\n| " + row}
}

// allowed are the differences; the first that matches a line gives its reason.
var allowed = []difference{
	differs("taken in", `^(runs and is (in no status|not listed)|hourly, somebody starts a Job)`, ``,
		"A Job that the CronJob controls and that its status does not list is taken in"),
	differs("the Job of the due run is no surprise", `^the Job of the run exists$`, `^- .* UnexpectedJob `,
		"A Job that the CronJob controls and that its status does not list is taken in"),
	differs("a run whose Job exists has started", `^the Job of the run exists and is listed$`, ` status `,
		"A run whose Job exists has started"),
	differs("a run that has ended does not start again", `^the Job of the run exists, is complete and beyond the limits$`,
		` (create|status|event Normal SuccessfulCreate) `, "A run whose Job exists has started"),
	differs("too many", `^blocked for 95 minutes`, ` TooManyMissedTimes `, "`TooManyMissedTimes` counts from the last time that has an outcome"),
	differs("said once", ``, `^- .* (UnparseableSchedule|UnknownTimeZone|UnsupportedSchedule|JobAlreadyActive) `,
		"`JobAlreadyActive` is emitted once for each blocked run"),
	differs("missed by its deadline", ``, `^\+ .* MissSchedule `, "A run missed by its deadline has a Warning Event"),
	differs("short deadlines", `schedule @every .* deadline 10 s$|deadline 0$`, `^\+ `, "`startingDeadlineSeconds: 0` runs on time"),
	differs("counts from the edit", `^edited (to run more often|to another minute|while a run waits|to no zone)`, ` (create|status|event Normal SuccessfulCreate) `,
		"An edited schedule or zone counts from when the workflow hears of the edit"),
	differs("said at the edit", `^edited to (a bad schedule|an unknown zone)`, `- .* UnParseableCronJobSchedule |\+ .* (UnparseableSchedule|UnknownTimeZone) `,
		"`UnParseableCronJobSchedule` is never emitted"),
	differs("judged while suspended", `^bad schedule and suspended$`, `^\+ .* UnparseableSchedule `, "A schedule is judged while the CronJob is suspended too"),
	differs("the first of a minute", `^schedule @every -5m$`, ` (create|status) `, "`@every` runs at last run"),
	differs("never fires", `^schedule 0 0 31 2 \*$`, ` (InvalidSchedule|NeverFires) `, "A schedule that names no time that ever comes"),
	differs("exact catch-up", `^missed irregular times$`, `^\+ `, "After downtime the newest missed run"),
	differs("clocks", `^clocks are set .*Lord_Howe`, `^\+ `, "A time fires at every instant at which the clocks"),
	differs("another's Job", `^the name of the run is another's Job$`, `^\+ `, "A Job of another owner that has the run's name"),
	differs("tried again", `refused`, ``, "A refused create is tried again after 10 s"),
}
