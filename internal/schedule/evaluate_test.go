package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/schedule"
)

// The behaviours of upstream's TestMostRecentScheduleTime, with its times.
func TestMostRecentDueTime(t *testing.T) {
	for name, test := range map[string]struct {
		spec          schedule.Spec
		created, last string
		now           string
		due           string
		tooMany       bool
	}{
		"now before next schedule":     {cronSpec("0 * * * *"), "10:00", "", "10:00:30", "", false},
		"now just after next schedule": {cronSpec("0 * * * *"), "10:00", "", "11:01", "11:00", false},
		"missed 5 schedules":           {cronSpec("0 * * * *"), "10:00:10", "", "15:01", "15:00", false},
		"irregular schedule, the next day": {
			cronSpec("30 6-16/4 * * 1-5"), "10:00", "10:30", "2016-05-20T10:31:00Z", "2016-05-20T10:30:00Z", false},
		"irregular schedule whose first distance overshoots is not lost": {
			cronSpec("30 10,11,12 * * 1-5"), "10:00", "10:30", "2016-05-20T16:30:00Z", "2016-05-20T12:30:00Z", false},
		"irregular schedule, after the weekend": {
			cronSpec("30 6-16/4 * * 1-5"), "10:00", "10:30", "2016-05-23T10:31:00Z", "2016-05-23T10:30:00Z", false},
		"irregular schedule, never ran": {
			cronSpec("30 6-16/4 * * 1-5"), "10:00", "", "2016-05-20T10:31:00Z", "2016-05-20T10:30:00Z", false},
		"@every keeps to the last run's minute": {
			cronSpec("@every 1h"), "09:01", "10:01", "2016-05-26T10:00:00Z", "2016-05-26T09:01:00Z", true},
		"ran at this time already": {cronSpec("0 * * * *"), "10:00", "10:00", "10:00:30", "", false},
		"ran a minute ago":         {cronSpec("*/5 * * * *"), "10:00", "10:30", "10:31", "", false},
		"exactly on time":          {cronSpec("*/5 * * * *"), "10:00", "10:30", "10:35", "10:35", false},
		"a century of downtime": {
			cronSpec("* * * * *"), "1916-05-19T10:00:00Z", "", "10:00:30", "10:00", true},
		"a deadline hides what is too many": {
			cronSpec("* * * * *", deadline(600)), "2016-05-01T00:00:00Z", "", "10:00", "10:00", false},
		"a long deadline does not": {
			cronSpec("* * * * *", deadline(7200)), "2016-05-01T00:00:00Z", "", "10:00", "10:00", true},
	} {
		t.Run(name, func(t *testing.T) {
			from := createdAt(at(test.created))
			if test.last != "" {
				from.LastScheduled = at(test.last)
			}
			evaluation := schedule.Evaluate(test.spec, from, at(test.now))
			wantTime(t, "due", evaluation.Due, test.due)
			if evaluation.TooMany != test.tooMany {
				t.Errorf("too many missed: got %v, want %v", evaluation.TooMany, test.tooMany)
			}
		})
	}
}

// evaluate lists Due and the upcoming times up to until.
func evaluate(t *testing.T, spec schedule.Spec, created, now, until string) []string {
	t.Helper()
	var times []string
	from, end := createdAt(at(created)), at(until)
	for cursor := at(now); cursor.Before(end); {
		evaluation := schedule.Evaluate(spec, from, cursor)
		if evaluation.Problem != nil {
			t.Fatal(evaluation.Problem.Message)
		}
		for _, scheduled := range append([]time.Time{evaluation.Due}, evaluation.Upcoming...) {
			if cursor = scheduled; !scheduled.IsZero() && !scheduled.After(end) {
				times = append(times, scheduled.Format(time.RFC3339))
			}
		}
		from.Settled = cursor
	}
	return times
}

func TestDaylightSaving(t *testing.T) {
	newYork := zone("America/New_York")
	for name, test := range map[string]struct {
		spec       schedule.Spec
		now, until string
		want       []string
	}{
		"a time that the spring change skips does not come that day": {
			cronSpec("30 2 * * *", newYork), "2026-03-07T12:00:00Z", "2026-03-10T12:00:00Z",
			[]string{"2026-03-09T06:30:00Z", "2026-03-10T06:30:00Z"}},
		"a time that the autumn change repeats comes twice": {
			cronSpec("30 1 * * *", newYork), "2026-10-31T12:00:00Z", "2026-11-02T12:00:00Z",
			[]string{"2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"}},
		"an hourly schedule comes every real hour in spring": {
			cronSpec("0 * * * *", newYork), "2026-03-08T05:30:00Z", "2026-03-08T08:30:00Z",
			[]string{"2026-03-08T06:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T08:00:00Z"}},
		"an hourly schedule comes every real hour in autumn": {
			cronSpec("0 * * * *", newYork), "2026-11-01T04:30:00Z", "2026-11-01T07:30:00Z",
			[]string{"2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z", "2026-11-01T07:00:00Z"}},
		"a daily time keeps its wall clock over the change": {
			cronSpec("0 9 * * *", zone("Europe/Paris")), "2026-03-27T12:00:00Z", "2026-03-30T12:00:00Z",
			[]string{"2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"}},
		"a zone in the schedule wins over timeZone": {
			cronSpec("TZ=Asia/Tokyo 0 9 * * *", newYork), "2026-03-08T12:00:00Z", "2026-03-09T12:00:00Z",
			[]string{"2026-03-09T00:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantStrings(t, "times", evaluate(t, test.spec, test.now, test.now, test.until), test.want...)
		})
	}
}

func TestEvery(t *testing.T) {
	for name, test := range map[string]struct {
		spec                      schedule.Spec
		created, last, now, until string
		want                      []string
	}{
		"counts from creation": {
			cronSpec("@every 90m"), "10:00:30", "", "10:00:31", "13:30:00", []string{"2016-05-19T11:30:30Z", "2016-05-19T13:00:30Z"}},
		"counts from the last run": {
			cronSpec("@every 1h"), "10:00", "12:17", "12:20", "14:30", []string{"2016-05-19T13:17:00Z", "2016-05-19T14:17:00Z"}},
		"a deadline shorter than the distance does not move the grid": {
			cronSpec("@every 1h", deadline(10)), "10:00", "12:17", "13:17:05", "13:30", []string{"2016-05-19T13:17:00Z"}},
		"below a minute, the first of each minute counts": {
			cronSpec("@every 20s"), "10:00:30", "", "10:00:31", "10:03", []string{
				"2016-05-19T10:00:50Z", "2016-05-19T10:01:10Z", "2016-05-19T10:02:10Z"}},
		"below a minute, the last run's minute has its Job": {
			cronSpec("@every 7s"), "10:00", "10:00:14", "10:00:20", "10:02", []string{"2016-05-19T10:01:03Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			from := createdAt(at(test.created))
			if test.last != "" {
				from.LastScheduled = at(test.last)
			}
			evaluation := schedule.Evaluate(test.spec, from, at(test.now))
			var times []string
			for _, scheduled := range append([]time.Time{evaluation.Due}, evaluation.Upcoming...) {
				if !scheduled.IsZero() && !scheduled.After(at(test.until)) {
					times = append(times, scheduled.Format(time.RFC3339))
				}
			}
			wantStrings(t, "times", times, test.want...)
		})
	}
}

func TestMissedRunsAreSummedUp(t *testing.T) {
	for name, test := range map[string]struct {
		expression  string
		created     string
		now         string
		first, last string
		count       int64
		estimated   bool
	}{
		"one by one":              {"0 * * * *", "10:00", "14:30", "11:00", "13:00", 3, false},
		"by estimate":             {"* * * * *", "2015-05-19T10:00:00Z", "10:00:30", "2015-05-19T10:01:00Z", "09:59", 366*24*60 - 1, true},
		"every second for a year": {"@every 1s", "2015-05-19T10:00:00Z", "10:00:30", "2015-05-19T10:00:01Z", "09:59", 366 * 24 * 60, true},
		"never before 2015":       {"0 0 1 1,7 *", "1970-01-01T00:00:00Z", "10:00", "2015-07-01T00:00:00Z", "2015-07-01T00:00:00Z", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			evaluation := schedule.Evaluate(cronSpec(test.expression), createdAt(at(test.created)), at(test.now))
			missed := missedOf(evaluation)
			if missed == nil {
				t.Fatal("nothing missed")
			}
			wantTime(t, "first", missed.First, test.first)
			wantTime(t, "last", missed.Last, test.last)
			if missed.Count != test.count || missed.Estimated != test.estimated {
				t.Errorf("got %d (estimated %v), want %d (%v)", missed.Count, missed.Estimated, test.count, test.estimated)
			}
		})
	}
}

// missedOf returns the one stretch of an evaluation in which no time is set apart, or nil.
func missedOf(e schedule.Evaluation) *schedule.MissedRuns {
	if len(e.Missed) == 0 {
		return nil
	}
	return &e.Missed[0]
}

func TestTimesSetApartAreNotSummedUp(t *testing.T) {
	for name, test := range map[string]struct {
		apart []string
		want  []string
		due   string
	}{
		"none":                       {nil, []string{"11:00..14:00 x4"}, "15:00"},
		"one in the middle":          {[]string{"12:00"}, []string{"11:00..11:00 x1", "12:00..12:00 x1", "13:00..14:00 x2"}, "15:00"},
		"two neighbours":             {[]string{"12:00", "13:00"}, []string{"11:00..11:00 x1", "12:00..12:00 x1", "13:00..13:00 x1", "14:00..14:00 x1"}, "15:00"},
		"the first":                  {[]string{"11:00"}, []string{"11:00..11:00 x1", "12:00..14:00 x3"}, "15:00"},
		"the last":                   {[]string{"15:00"}, []string{"11:00..14:00 x4"}, "15:00"},
		"no time of the schedule":    {[]string{"12:30"}, []string{"11:00..12:00 x2", "13:00..14:00 x2"}, "15:00"},
		"before the creation or now": {[]string{"10:00", "16:00"}, []string{"11:00..14:00 x4"}, "15:00"},
	} {
		t.Run(name, func(t *testing.T) {
			state := createdAt(at("10:30"))
			for _, apart := range test.apart {
				state.Recovered = append(state.Recovered, schedule.RecoveredJob{Run: schedule.Run{Scheduled: at(apart)}})
			}
			evaluation := schedule.Evaluate(cronSpec("0 * * * *"), state, at("15:30"))
			var got []string
			for _, missed := range evaluation.Missed {
				got = append(got, fmt.Sprintf("%s..%s x%d", missed.First.Format("15:04"), missed.Last.Format("15:04"), missed.Count))
			}
			wantStrings(t, "missed", got, test.want...)
			wantTime(t, "due", evaluation.Due, test.due)
		})
	}
}

var expressions = []string{
	"* * * * *", "*/7 * * * *", "30 10,11,12 * * 1-5", "30 6-16/4 * * 1-5", "0 0 1 * *", "0 0 29 2 *", "15 2 * * 0",
	"0 12 1,15 * 3", "59 23 31 12 *", "0 1 * * *", "30 2 * * *", "0 0 */2 * 1", "45 1 * 11 *", "@hourly", "@weekly",
}

var zones = []string{"UTC", "America/New_York", "Europe/Paris", "Asia/Kolkata", "Australia/Sydney"}

func drawTime(t *rapid.T, label string) time.Time {
	base := at("2026-01-01T00:00:00Z").Unix()
	return time.Unix(base+rapid.Int64Range(0, 400*24*3600).Draw(t, label), 0).UTC()
}

// Walking the schedule time by time from the creation is the definition of what
// is due, missed and upcoming.
func TestEvaluateEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := cronSpec(rapid.SampledFrom(expressions).Draw(t, "schedule"), zone(rapid.SampledFrom(zones).Draw(t, "zone")))
		created := drawTime(t, "created")
		now := created.Add(time.Duration(rapid.Int64Range(0, 20*24*3600).Draw(t, "elapsed")) * time.Second)
		evaluation := schedule.Evaluate(spec, createdAt(created), now)

		line, err := cron.ParseStandard("TZ=" + *spec.TimeZone + " " + spec.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		var due time.Time
		var count int64
		scheduled := line.Next(created)
		for ; !scheduled.After(now); scheduled = line.Next(scheduled) {
			due = scheduled
			count++
		}
		if !evaluation.Due.Equal(due) {
			t.Fatalf("due: got %s, want %s", evaluation.Due, due)
		}
		if missed := missedOf(evaluation); count > 1 && (missed == nil || (!missed.Estimated && missed.Count != count-1)) {
			t.Fatalf("missed: got %+v, want %d", missed, count-1)
		}
		for index, upcoming := range evaluation.Upcoming {
			if !upcoming.Equal(scheduled) {
				t.Fatalf("upcoming %d: got %s, want %s", index, upcoming, scheduled)
			}
			scheduled = line.Next(scheduled)
		}
	})
}

// For any schedule, downtime and deadline the work is bounded: far below the
// second after which the SDK takes a workflow task for deadlocked.
func TestEvaluateIsBounded(t *testing.T) {
	for _, expression := range append([]string{"@every 1s", "@every 59s", "@every 100000h", ", * * * *", "0 0 31 2 *"}, expressions...) {
		for zoneName, created := range map[string]string{
			"America/New_York":    "1970-01-01T00:00:00Z",
			"Pacific/Apia":        "2011-12-01T00:00:00Z", // a day was left out
			"America/Sao_Paulo":   "2018-10-01T00:00:00Z", // a midnight was left out
			"Australia/Lord_Howe": "2026-03-01T00:00:00Z", // half an hour is left out
		} {
			timed(t, fmt.Sprintf("%q in %s", expression, zoneName), func() {
				schedule.Evaluate(cronSpec(expression, zone(zoneName)), createdAt(at(created)), at("2026-06-01T12:34:56Z"))
			})
		}
	}
}
