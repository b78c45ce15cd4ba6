package cronjobs

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

const complete, failure = batchv1.JobComplete, batchv1.JobFailed

// scenarios are all that are played.
var scenarios = slices.Concat(matrix(), runsInTurn(), endings(), schedules(), missed(), edits(), others())

// each makes a scenario for each policy.
func each(name string, options ...option) []scenario {
	var all []scenario
	for _, p := range policies {
		all = append(all, newScenario(title(name, p), append([]option{spec(policy(p))}, options...)...))
	}
	return all
}

func everyMinute(edits ...edit) option {
	return spec(append([]edit{schedule("* * * * *")}, edits...)...)
}

// runsInTurn are runs that follow one another.
func runsInTurn() []scenario {
	return slices.Concat(
		each("every minute, each ends in time", everyMinute(), between("09:30:30", "09:34:30"),
			finish("09:31:20", "09:31", complete), finish("09:32:20", "09:32", failure), finish("09:33:20", "09:33", complete)),
		each("every minute, the first takes 90 s", everyMinute(), between("09:30:30", "09:34:30"),
			finishUnlessReplaced("09:32:30", "09:31")),
		each("every minute, the first takes 150 s", everyMinute(), between("09:30:30", "09:35:30"),
			finishUnlessReplaced("09:33:30", "09:31")),
		each("every minute, the first takes 90 s, deadline 10 s", everyMinute(deadline(10)), between("09:30:30", "09:34:30"),
			finishUnlessReplaced("09:32:30", "09:31")),
		each("every minute, nothing ends", everyMinute(), between("09:30:30", "09:34:30")),
		each("hourly, a run's Job vanishes", between("09:45", "12:05"), vanish("10:20", "10:00")),
		each("hourly, a run's Job vanishes after the next was due", between("09:45", "12:05"), vanishUnlessReplaced("11:20", "10:00")),
		each("hourly, somebody starts a Job that ends", between("09:45", "12:05"), finish("10:05", "10:00", complete),
			appear("10:20", "by-hand"), finishJob("10:40", "by-hand", complete)),
		each("hourly, somebody starts a Job that goes on", between("09:45", "12:05"), finish("10:05", "10:00", complete),
			appear("10:20", "by-hand")),
		each("hourly, the controller is away while a run ends", between("09:45", "12:05"), does("10:10", "stop"),
			finish("10:20", "10:00", complete), does("10:40", "start")),
		each("hourly, the controller is away for two runs", between("09:45", "13:05"), finish("10:20", "10:00", complete),
			does("10:40", "stop"), does("12:30", "start")),
		each("hourly, the controller is away for two runs, the one before has not ended", between("09:45", "13:05"),
			does("10:40", "stop"), does("12:30", "start")),
	)
}

// finishUnlessReplaced ends a run that only Replace does not let end.
func finishUnlessReplaced(text, scheduled string) option {
	return func(s *scenario) {
		if s.CronJob.Spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent {
			finish(text, scheduled, complete)(s)
		}
	}
}

func vanishUnlessReplaced(text, scheduled string) option {
	return func(s *scenario) {
		if s.CronJob.Spec.ConcurrencyPolicy != batchv1.ReplaceConcurrent {
			vanish(text, scheduled)(s)
		}
	}
}

// endings are history limits and the ends of runs.
func endings() []scenario {
	old := []option{created("04:30"), last("09:00"), between("09:30", "10:05")}
	for i, hour := range []string{"05", "06", "07", "08", "09"} {
		result := complete
		if i%2 == 1 {
			result = failure
		}
		old = append(old, job(hour+":00", ended(result, hour+":10")))
	}
	for _, hour := range []string{"05", "06", "07"} {
		old = append(old, job(hour+":30", ended(failure, hour+":40")))
	}
	with := func(name string, options ...option) scenario {
		return newScenario(name, append(slices.Clone(old), options...)...)
	}
	inTurn := []option{everyMinute(), between("09:30:30", "09:37:30")}
	for minute := 31; minute < 37; minute++ {
		result := complete
		if minute%3 == 0 {
			result = failure
		}
		inTurn = append(inTurn, finish(fmt.Sprintf("09:%d:20", minute), fmt.Sprintf("09:%d", minute), result))
	}
	limited := func(name string, successful, failed int32) scenario {
		return newScenario(name, append(slices.Clone(inTurn), spec(limits(successful, failed)))...)
	}
	return []scenario{
		with("history of eight, limits 3 and 1"),
		with("history of eight, limits 1 and 1", spec(limits(1, 1))),
		with("history of eight, limits 0 and 0", spec(limits(0, 0))),
		with("history of eight, limits 0 and 0, suspended", spec(limits(0, 0), suspend)),
		with("history of eight, limits 0 and 0, being deleted", spec(limits(0, 0), beingDeleted)),
		with("history of eight, limits 10 and 10", spec(limits(10, 10))),
		with("history of eight, limits are lowered", spec(limits(10, 10)), edited("09:40", limits(1, 2))),
		with("history of eight, a Job of it vanishes", spec(limits(10, 10)), vanish("09:40", "07:00")),
		with("history of eight, unknown zone", spec(limits(1, 1), zone("Mars/Olympus"))),
		with("history of eight, deletes are refused for a while", spec(limits(10, 1)), does("09:40", "refuse delete"),
			edited("09:41", limits(1, 1)), does("09:41:15", "accept delete")),
		limited("six runs end, limits 3 and 1", 3, 1),
		limited("six runs end, limits 1 and 0", 1, 0),
		limited("six runs end, limits 0 and 0", 0, 0),
		limited("six runs end, limits 10 and 10", 10, 10),
		newScenario("a run ends while the CronJob is being deleted", append(slices.Clone(runs), between("10:30", "12:05"),
			edited("10:40", beingDeleted), finish("10:50", "10:00", complete))...),
		newScenario("a run ends while the CronJob is suspended", append(slices.Clone(runs), between("10:30", "12:05"),
			edited("10:40", suspend), finish("10:50", "10:00", complete))...),
		newScenario("an older run completes last", last("11:00"), active("10:00"), active("11:00"), job("10:00"), job("11:00"),
			between("11:10", "12:05"), finish("11:20", "11:00", complete), finish("11:30", "10:00", complete)),
	}
}

// schedules are expressions and zones.
func schedules() []scenario {
	var all []scenario
	for _, expression := range []string{
		"*/20 * * * *", "@hourly", "@daily", "@every 1h", "@every 25m", "@every 1h30m", "7,37 10-11 * * 4",
		"0 10 1 * 5", "0 0 31 2 *", "0 0 29 2 *", "", "not a schedule", "61 * * * *", "* * * *", "0 0 * * * *", "@fortnightly",
		"TZ=Europe/Paris 0 12 * * *", "CRON_TZ=Europe/Paris 0 12 * * *", "TZ=Mars/Olympus 0 12 * * *",
	} {
		all = append(all, newScenario(title("schedule "+expression), spec(schedule(expression), limits(100, 100)), between("09:45", "12:05")))
	}
	for _, expression := range []string{"@every 90s", "@every 20s", "@every -5m"} {
		all = append(all, newScenario(title("schedule "+expression), spec(schedule(expression), limits(100, 100)), between("09:30:10", "09:36:10")))
	}
	for _, expression := range []string{"@every 1h", "@every 25m", "@every 15m"} {
		all = append(all,
			newScenario(title("schedule "+expression, "deadline 10 s"), spec(schedule(expression), deadline(10)), between("09:45", "12:05")),
			newScenario(title("schedule "+expression, "deadline 2 h"), spec(schedule(expression), deadline(7200)), between("09:45", "12:05")))
	}
	for _, name := range []string{"UTC", "Europe/Paris", "Asia/Kolkata", "Mars/Olympus", "", "Local"} {
		all = append(all, newScenario(title("zone "+name), spec(zone(name)), between("09:45", "11:35")),
			newScenario(title("at 12:00 in zone "+name), spec(schedule("0 12 * * *"), zone(name)), between("09:45", "12:05")))
	}
	all = append(all, newScenario("unknown zone and suspended", spec(zone("Mars/Olympus"), suspend), between("09:45", "10:05")),
		newScenario("bad schedule and suspended", spec(schedule("61 * * * *"), suspend), between("09:45", "10:05")),
		newScenario("bad schedule, its run ends", append(slices.Clone(runs), spec(schedule("61 * * * *")), between("10:30", "11:05"),
			finish("10:40", "10:00", complete))...),
		newScenario("zone in the schedule and in timeZone", spec(schedule("TZ=Asia/Tokyo 0 * * * *"), zone("Europe/Paris")),
			between("09:45", "11:05")))
	// Clocks that are set.
	for _, clock := range []struct{ name, zone, day, expression string }{
		{"to summer", "Europe/Paris", "2016-03-27", "30 * * * *"},
		{"to summer", "Europe/Paris", "2016-03-27", "30 2 * * *"},
		{"to winter", "Europe/Paris", "2016-10-30", "30 * * * *"},
		{"to winter", "Europe/Paris", "2016-10-30", "30 2 * * *"},
		{"to summer", "Australia/Lord_Howe", "2016-10-01", "45 * * * *"},
		{"to summer", "Australia/Lord_Howe", "2016-10-01", "15 3 * * *"},
		{"to winter", "Australia/Lord_Howe", "2016-04-02", "45 * * * *"},
	} {
		begin := clock.day + "T00:00:10Z"
		if clock.zone == "Australia/Lord_Howe" {
			begin = clock.day + "T14:00:10Z"
		}
		end := at(begin).Add(4 * 3600e9).Format("2006-01-02T15:04:05Z")
		all = append(all, newScenario(title("clocks are set "+clock.name, clock.zone, clock.expression),
			created(begin), between(begin, end), spec(schedule(clock.expression), zone(clock.zone), limits(10, 10))))
	}
	return all
}

// missed are times that passed before the controller began.
func missed() []scenario {
	since := func(name, expression, lastRun, begin, end string, edits ...edit) scenario {
		return newScenario(name, created("2016-01-01T00:00:00Z"), last(lastRun), spec(append([]edit{schedule(expression)}, edits...)...),
			between(begin, end))
	}
	return []scenario{
		since("missed one minute", "* * * * *", "09:58", "10:00:30", "10:02:30"),
		since("missed 60 minutes", "* * * * *", "09:00", "10:00:30", "10:02:30"),
		since("missed 100 minutes", "* * * * *", "08:20", "10:00:30", "10:02:30"),
		since("missed 101 minutes", "* * * * *", "08:19", "10:00:30", "10:02:30"),
		since("missed 101 minutes, deadline 10 s", "* * * * *", "08:19", "10:00:30", "10:02:30", deadline(10)),
		since("missed 101 minutes, deadline 40 s", "* * * * *", "08:19", "10:00:30", "10:02:30", deadline(40)),
		since("missed 101 minutes, deadline 200 s", "* * * * *", "08:19", "10:00:30", "10:02:30", deadline(200)),
		since("missed 101 minutes, suspended", "* * * * *", "08:19", "10:00:30", "10:02:30", suspend),
		since("missed a month of hours", "0 * * * *", "2016-04-19T10:00:00Z", "10:00:30", "11:02:30"),
		since("missed 200 times of @every 5m", "@every 5m", "2016-05-18T17:17:00Z", "10:00:30", "10:14"),
		since("missed times of working hours", "30 6-16/4 * * 1-5", "2016-05-17T14:30:00Z", "10:00:30", "10:35"),
		since("missed times of working hours over a weekend", "30 6-16/4 * * 1-5", "2016-05-13T14:30:00Z", "2016-05-16T06:00:30Z",
			"2016-05-16T06:35:00Z"),
		since("missed irregular times", "0,5 9 * * *", "2016-05-17T09:05:00Z", "10:00:30", "10:35"),
		since("missed two of a monthly schedule", "0 9 1 * *", "2016-03-01T09:00:00Z", "10:00:30", "10:35"),
		since("ran in the future", "0 * * * *", "12:00", "10:00:30", "13:05"),
		since("began at the time itself", "0 * * * *", "09:00", "10:00", "11:05"),
		since("began at the time itself, deadline 0", "0 * * * *", "09:00", "10:00", "11:05", deadline(0)),
		since("began after the time, deadline 0", "0 * * * *", "09:00", "10:00:01", "11:05", deadline(0)),
		newScenario("created at a time of the schedule", created("10:00"), between("10:00", "11:05")),
		newScenario("blocked for 95 minutes and longer", everyMinute(policy(batchv1.ForbidConcurrent)), last("09:31"), active("09:31"),
			job("09:31"), between("11:06:30", "11:13:30")),
		newScenario("created in the future", created("10:30"), between("09:45", "11:05")),
	}
}

// edits are changes while the controller runs.
func edits() []scenario {
	return slices.Concat(
		each("suspended for two hours", between("09:45", "13:05"), finish("10:05", "10:00", complete), edited("10:30", suspend),
			edited("12:30", resume)),
		each("suspended for two hours, a run goes on", between("09:45", "13:05"), edited("10:30", suspend), edited("12:30", resume)),
		each("suspended for two hours, deadline 10 s", spec(deadline(10)), between("09:45", "13:05"), finish("10:05", "10:00", complete),
			edited("10:30", suspend), edited("12:30", resume)),
		[]scenario{
			newScenario("suspended from the beginning", spec(suspend), between("09:45", "13:05"), edited("12:30", resume)),
			newScenario("suspended between two times", between("09:45", "12:05"), edited("10:10", suspend), edited("10:50", resume)),
			newScenario("edited to run more often", between("09:45", "11:05"), edited("10:30:30", schedule("*/20 * * * *"))),
			newScenario("edited to run more often, a run ends after", between("09:45", "11:05"),
				edited("10:30:30", schedule("*/20 * * * *")), finish("10:31:30", "10:00", complete)),
			newScenario("edited to run less often", spec(schedule("*/20 * * * *")), between("09:45", "12:05"),
				edited("10:10", schedule("0 * * * *"))),
			newScenario("edited to another minute that has passed", between("09:45", "12:05"), edited("10:30:30", schedule("15 * * * *"))),
			newScenario("edited to another minute that comes", between("09:45", "12:05"), edited("10:10", schedule("45 * * * *"))),
			newScenario("edited while a run waits", append(slices.Clone(runs), spec(policy(batchv1.ForbidConcurrent)),
				between("11:20", "12:35"), edited("11:30:30", schedule("25 * * * *")), finish("11:40", "10:00", complete))...),
			newScenario("edited to a bad schedule and back", between("09:45", "12:05"), edited("10:10", schedule("61 * * * *")),
				edited("10:20", schedule("0 * * * *"))),
			newScenario("edited to a bad schedule over a time and back", between("09:45", "13:05"), edited("10:10", schedule("61 * * * *")),
				edited("11:20", schedule("0 * * * *"))),
			newScenario("edited from a bad schedule", spec(schedule("61 * * * *")), between("09:45", "12:05"),
				edited("11:20", schedule("0 * * * *"))),
			newScenario("edited to another zone", spec(zone("UTC")), between("09:45", "12:05"), edited("10:10", zone("Asia/Kolkata"))),
			newScenario("edited to an unknown zone", spec(zone("UTC")), between("09:45", "12:05"), edited("10:10", zone("Mars/Olympus"))),
			newScenario("edited from an unknown zone", spec(zone("Mars/Olympus")), between("09:45", "12:05"), edited("10:10", zone("UTC"))),
			newScenario("edited to no zone", spec(zone("Asia/Kolkata")), between("09:45", "12:05"), edited("10:10", noZone)),
			newScenario("edited to Allow while a run waits", append(slices.Clone(runs), spec(policy(batchv1.ForbidConcurrent)),
				between("11:20", "12:05"), edited("11:30", policy(batchv1.AllowConcurrent)))...),
			newScenario("edited to Replace while a run waits", append(slices.Clone(runs), spec(policy(batchv1.ForbidConcurrent)),
				between("11:20", "12:05"), edited("11:30", policy(batchv1.ReplaceConcurrent)))...),
			newScenario("edited to Forbid while two run", append(slices.Clone(twoRun), between("10:20", "12:05"),
				edited("10:30", policy(batchv1.ForbidConcurrent)))...),
			newScenario("edited to have a deadline while a run waits", append(slices.Clone(runs), spec(policy(batchv1.ForbidConcurrent)),
				between("11:20", "12:05"), edited("11:30", deadline(10)), finish("11:40", "10:00", complete))...),
			newScenario("edited to have no deadline left to wait", append(slices.Clone(runs),
				spec(policy(batchv1.ForbidConcurrent), deadline(600)), between("11:05", "12:05"), edited("11:30", deadline(3600)),
				finish("11:40", "10:00", complete))...),
			newScenario("deleted before the next time", between("09:45", "12:05"), edited("10:30", beingDeleted)),
		},
	)
}

// others are what others do to the names and writes of the CronJob.
func others() []scenario {
	taken := func(options ...jobOption) option { return job("11:00", options...) }
	return []scenario{
		newScenario("the name of the run is another's Job", append(slices.Clone(ranOnce), taken(ofAnother), spec(schedule("*/2 11 * * *")),
			between("10:30", "11:03"))...),
		newScenario("the Job of the run exists", append(slices.Clone(ranOnce), taken(), between(justDue, "12:05"))...),
		newScenario("the Job of the run exists and is complete", append(slices.Clone(ranOnce), taken(ended(complete, "11:00:01")),
			between(justDue, "12:05"))...),
		newScenario("the Job of the run exists, is complete and beyond the limits", append(slices.Clone(ranOnce),
			taken(ended(complete, "11:00:01")), spec(limits(0, 0)), between(justDue, "12:05"))...),
		newScenario("the Job of the run exists and is listed", append(slices.Clone(ranOnce), active("11:00"), taken(),
			between(justDue, "12:05"))...),
		newScenario("creates are refused for a while", between("09:45", "11:05"), does("09:50", "refuse create"),
			does("10:00:25", "accept create")),
		newScenario("creates are refused beyond the next time", spec(schedule("*/2 * * * *")), between("09:59", "10:05"),
			does("09:59:10", "refuse create"), does("10:02:20", "accept create")),
		newScenario("creates are refused beyond the deadline", spec(deadline(60)), between("09:45", "11:05"),
			does("09:50", "refuse create"), does("10:01:30", "accept create")),
		newScenario("deletes are refused under Replace", append(slices.Clone(runs), spec(policy(batchv1.ReplaceConcurrent)),
			between("10:30", "12:05"), does("10:50", "refuse delete"), does("11:00:25", "accept delete"))...),
	}
}
