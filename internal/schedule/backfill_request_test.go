package schedule_test

import (
	"strings"
	"testing"
	"time"

	"ostinato.dev/ostinato/internal/schedule"
)

func TestWhichTimesABackfillHas(t *testing.T) {
	fresh := createdAt(at("09:00:10"))
	ran := fresh
	ran.LastScheduled = at("09:30:10")
	for name, test := range map[string]struct {
		spec     schedule.Spec
		state    schedule.State
		from, to string
		want     string
	}{
		"both ends are in":                {cronSpec("0 * * * *"), fresh, "05:00", "07:00", "05:00:00 06:00:00 07:00:00"},
		"a second after the first":        {cronSpec("0 * * * *"), fresh, "05:00:01", "06:59:59", "06:00:00"},
		"a moment after the first":        {cronSpec("0 * * * *"), fresh, "2016-05-19T05:00:00.5Z", "06:00", "06:00:00"},
		"one":                             {cronSpec("0 * * * *"), fresh, "05:00", "05:00", "05:00:00"},
		"of a zone":                       {cronSpec("0 7 * * *", zone("Europe/Berlin")), fresh, "00:00", "09:00", "05:00:00"},
		"an hour that comes twice":        {cronSpec("30 1 * * *", zone("Europe/London")), fresh, "2015-10-25T00:00:00Z", "2015-10-25T03:00:00Z", "00:30:00 01:30:00"},
		"an hour that is skipped":         {cronSpec("30 1 * * *", zone("Europe/London")), fresh, "2016-03-27T00:00:00Z", "2016-03-28T01:00:00Z", "00:30:00"},
		"an interval, after the creation": {cronSpec("@every 10m"), fresh, "09:00", "09:30", "09:00:10 09:10:10 09:20:10"},
		"an interval, before it":          {cronSpec("@every 10m"), fresh, "08:00", "08:25", "08:00:10 08:10:10 08:20:10"},
		"an interval, before a run":       {cronSpec("@every 10m"), ran, "09:09", "09:31", "09:10:10 09:20:10 09:30:10"},
		"an interval of seconds":          {cronSpec("@every 20s"), ran, "09:28", "09:31", "09:28:10 09:29:10 09:30:10"},
		"an interval in its own minute":   {cronSpec("@every 20s"), ran, "09:30:20", "09:31:20", "09:31:10"},
		"none":                            {cronSpec("0 * * * *"), fresh, "05:01", "05:59", "names no time from"},
		"too many":                        {cronSpec("* * * * *"), fresh, "2016-05-18T00:00:00Z", "2016-05-18T16:40:00Z", "more than 1000 times from 2016-05-18T00:00:00Z to 2016-05-18T16:40:00Z: split the range, the first 1000 end at 2016-05-18T16:39:00Z"},
		"a schedule that can't be read":   {cronSpec("often"), fresh, "05:00", "07:00", "schedule has no times"},
		"a zone that nobody knows":        {cronSpec("0 * * * *", zone("Mars/Olympus")), fresh, "05:00", "07:00", "schedule has no times"},
	} {
		t.Run(name, func(t *testing.T) {
			found := schedule.TimesBetween(test.spec, test.state, at(test.from), at(test.to))
			got := found.Mistake
			for _, one := range found.Times {
				got += one.Format(" 15:04:05")
			}
			if !strings.Contains(got, test.want) || found.Mistake == "" && strings.TrimSpace(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestMistakesOfABackfillSayWhatToChange(t *testing.T) {
	now := at("12:00")
	ok := between("05:00", "07:00")
	with := func(change func(*schedule.BackfillRequest)) schedule.BackfillRequest {
		request := ok
		change(&request)
		return request
	}
	for name, test := range map[string]struct {
		request schedule.BackfillRequest
		spec    schedule.Spec
		want    string
	}{
		"none":                     {ok, cronSpec("0 * * * *"), ""},
		"up to now":                {between("05:00", "12:00"), cronSpec("0 * * * *"), ""},
		"several at once":          {with(func(r *schedule.BackfillRequest) { r.Parallelism = 100 }), cronSpec("0 * * * *"), ""},
		"several by an override":   {with(func(r *schedule.BackfillRequest) { r.Parallelism, r.Overlap = 3, "Allow" }), cronSpec("0 * * * *", forbid), ""},
		"one under Forbid":         {with(func(r *schedule.BackfillRequest) { r.Parallelism = 1 }), cronSpec("0 * * * *", forbid), ""},
		"a cancellation":           {schedule.BackfillRequest{Cancel: true, Note: "enough", By: "ada"}, cronSpec("0 * * * *"), ""},
		"nothing":                  {schedule.BackfillRequest{}, cronSpec("0 * * * *"), "from and to are needed"},
		"no end":                   {schedule.BackfillRequest{From: at("05:00")}, cronSpec("0 * * * *"), "from and to are needed"},
		"backwards":                {between("07:00", "05:00"), cronSpec("0 * * * *"), "exchange them"},
		"the future":               {between("07:00", "12:00:01"), cronSpec("0 * * * *"), "use 2016-05-19T12:00:00Z at most"},
		"long ago":                 {schedule.BackfillRequest{From: at("1970-01-01T00:00:00Z"), To: now}, cronSpec("0 * * * *"), "use 2015-01-01T00:00:00Z at least"},
		"too many at once":         {with(func(r *schedule.BackfillRequest) { r.Parallelism = 101 }), cronSpec("0 * * * *"), "use 1 to 100"},
		"fewer than none":          {with(func(r *schedule.BackfillRequest) { r.Parallelism = -1 }), cronSpec("0 * * * *"), "use 1 to 100"},
		"several under Forbid":     {with(func(r *schedule.BackfillRequest) { r.Parallelism = 2 }), cronSpec("0 * * * *", forbid), `ask for "overlap": "Allow"`},
		"several under Replace":    {with(func(r *schedule.BackfillRequest) { r.Parallelism = 2 }), cronSpec("0 * * * *", replace), `ask for "overlap": "Allow"`},
		"several in a queue":       {with(func(r *schedule.BackfillRequest) { r.Parallelism, r.Overlap = 2, "Queue" }), cronSpec("0 * * * *"), "under concurrency policy Queue"},
		"an overlap that is none":  {with(func(r *schedule.BackfillRequest) { r.Overlap = "Sometimes" }), cronSpec("0 * * * *"), "use Allow, Forbid, Replace or Queue"},
		"cancel and a range":       {with(func(r *schedule.BackfillRequest) { r.Cancel = true }), cronSpec("0 * * * *"), "send it without from"},
		"a CronJob that is to go":  {ok, cronSpec("0 * * * *", deleting), "being deleted"},
		"a range of a nanosecond":  {between("2016-05-19T05:00:00.000000001Z", "05:00"), cronSpec("0 * * * *"), "exchange them"},
		"a cancellation to be dry": {schedule.BackfillRequest{Cancel: true, DryRun: true}, cronSpec("0 * * * *"), "send it without from"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.request.Mistake(test.spec, now); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("said %q, want %q", got, test.want)
			}
		})
	}
}

func TestStatesWithBackfillsThatNoneCanHave(t *testing.T) {
	good := schedule.Backfill{Trigger: schedule.Trigger{Sequence: 1}, Parallelism: 1, Times: []time.Time{at("05:00")}}
	many, nameless, strange, negative, idle, wide := good, good, good, good, good, good
	idle.Parallelism, wide.Parallelism = 0, 101
	many.Times = make([]time.Time, 1001)
	nameless.Sequence, strange.Overlap, negative.Retry.Attempts = 0, "Sometimes", -1
	for name, test := range map[string]struct {
		backfills []schedule.Backfill
		valid     bool
	}{
		"one":                 {[]schedule.Backfill{good}, true},
		"ten":                 {make10(good), true},
		"eleven":              {append(make10(good), good), false},
		"of no time":          {[]schedule.Backfill{{Trigger: schedule.Trigger{Sequence: 1}, Parallelism: 1}}, false},
		"and none runs":       {[]schedule.Backfill{idle}, false},
		"too many at once":    {[]schedule.Backfill{wide}, false},
		"of too many":         {[]schedule.Backfill{many}, false},
		"of no number":        {[]schedule.Backfill{nameless}, false},
		"of no policy":        {[]schedule.Backfill{strange}, false},
		"of negative numbers": {[]schedule.Backfill{negative}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := (schedule.State{Backfills: test.backfills}).Validate(); (err == nil) != test.valid {
				t.Errorf("error %v", err)
			}
		})
	}
}

func make10(backfill schedule.Backfill) []schedule.Backfill {
	var ten []schedule.Backfill
	for range 10 {
		ten = append(ten, backfill)
	}
	return ten
}
