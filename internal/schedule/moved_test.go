package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

func noted(text string) func(*ostinatov1.CronJob) {
	return func(object *ostinatov1.CronJob) {
		object.Annotations = map[string]string{names.LastScheduleTimeAnnotation: text}
	}
}

func created(text string) func(*ostinatov1.CronJob) {
	return func(object *ostinatov1.CronJob) { object.CreationTimestamp = metav1.NewTime(at(text)) }
}

func TestTheLastRunOfACronJobThatWasMoved(t *testing.T) {
	timestamp := func(text string) *metav1.Time { return ptr.To(metav1.NewTime(at(text))) }
	status := func(status ostinatov1.CronJobStatus) func(*ostinatov1.CronJob) {
		return func(object *ostinatov1.CronJob) { object.Status = status }
	}
	for name, test := range map[string]struct {
		object *ostinatov1.CronJob
		want   string
	}{
		"nothing is noted":                      {stored(), ""},
		"an empty status takes the note":        {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z")), "09:00"},
		"in other zones":                        {stored(noted("2016-05-19T11:00:00+02:00 noted 2016-05-19T12:00:00+02:00")), "09:00"},
		"with parts of a second":                {stored(noted("2016-05-19T09:00:00.9Z noted 2016-05-19T10:00:00.9Z")), "09:00"},
		"noted in the second of the creation":   {stored(noted("2016-05-19T10:00:02Z noted 2016-05-19T10:00:02Z")), "10:00:02"},
		"noted an hour before the creation":     {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T09:00:02Z")), "09:00"},
		"noted more than an hour before it":     {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T09:00:01Z")), ""},
		"noted by a clock that is ahead":        {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:01:02Z")), "09:00"},
		"noted after the creation":              {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:01:03Z")), ""},
		"noted in another year":                 {stored(noted("2016-05-19T09:00:00Z noted 2017-05-19T10:00:00Z")), ""},
		"a condition of the bridge is no run":   {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z"), status(ostinatov1.CronJobStatus{Conditions: []metav1.Condition{{Type: ostinatov1.ConditionNativeCronJobActive}}})), "09:00"},
		"the status knows better":               {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z"), status(ostinatov1.CronJobStatus{LastScheduleTime: timestamp("08:00")})), "08:00"},
		"a status without a run":                {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z"), status(ostinatov1.CronJobStatus{ObservedGeneration: 1})), ""},
		"a status with times without a run":     {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z"), status(ostinatov1.CronJobStatus{AccountedUntil: timestamp("08:00")})), ""},
		"a status that names its workflow":      {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z"), status(ostinatov1.CronJobStatus{Workflow: &ostinatov1.WorkflowReference{ID: "x"}})), ""},
		"a second in the future":                {stored(noted("2016-05-19T10:00:03Z noted 2016-05-19T10:00:00Z")), ""},
		"far in the future":                     {stored(noted("9999-12-31T23:59:59Z noted 2016-05-19T10:00:00Z")), ""},
		"before any CronJob":                    {stored(noted("1970-01-01T00:00:00Z noted 2016-05-19T10:00:00Z")), ""},
		"the year 1":                            {stored(noted("0001-01-01T00:00:00Z noted 2016-05-19T10:00:00Z")), ""},
		"long ago":                              {stored(noted("2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z")), "2015-01-01T00:00:00Z"},
		"no time":                               {stored(noted("yesterday noted 2016-05-19T10:00:00Z")), ""},
		"noted at no time":                      {stored(noted("2016-05-19T09:00:00Z noted today")), ""},
		"noted, without a time":                 {stored(noted("2016-05-19T09:00:00Z noted ")), ""},
		"no run, as kubectl prints it":          {stored(noted(" noted 2016-05-19T10:00:00Z")), ""},
		"a time without a zone":                 {stored(noted("2016-05-19T09:00:00 noted 2016-05-19T10:00:00Z")), ""},
		"a note, and more":                      {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z\n")), ""},
		"two notes":                             {stored(noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z noted 2016-05-19T10:00:00Z")), ""},
		"more digits than a time has":           {stored(noted("2016-05-19T09:00:00." + strings.Repeat("0", 1000) + "Z noted 2016-05-19T10:00:00Z")), ""},
		"a zone further away than any":          {stored(noted("2016-05-19T09:00:00+99:99 noted 2016-05-19T10:00:00Z")), ""},
		"what is empty is no time of the epoch": {stored(noted("")), ""},
		"undated, an hour before the creation":  {stored(noted("2016-05-19T09:00:02Z")), "09:00:02"},
		"undated, more than an hour before it":  {stored(noted("2016-05-19T09:00:01Z")), ""},
		"undated, of the second":                {stored(noted("2016-05-19T10:00:02Z")), "10:00:02"},
		"undated, in the future":                {stored(noted("2016-05-19T10:00:03Z")), ""},
		"undated, no time":                      {stored(noted("yesterday")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			created("10:00:02")(test.object)
			last := schedule.LastScheduleTime(test.object, at("10:00:02"))
			wantTime(t, "last run", ledger.Time(last), test.want)
		})
	}
}

// A move in January of a CronJob that runs daily at two, and what becomes of objects that are made from its manifest.
func TestTheNoteOfAMoveCountsForOneCreation(t *testing.T) {
	for name, test := range map[string]struct {
		noted, created string
		started        []string
	}{
		"the other controller has run it":     {"2016-01-05T02:00:00Z noted 2016-01-05T02:03:10Z", "2016-01-05T02:03:10Z", nil},
		"the other controller has not":        {"2016-01-04T02:00:00Z noted 2016-01-05T02:03:10Z", "2016-01-05T02:03:10Z", []string{"2016-01-05T02:00:00Z"}},
		"through Git, within the hour":        {"2016-01-04T02:00:00Z noted 2016-01-05T01:50:00Z", "2016-01-05T02:40:00Z", []string{"2016-01-05T02:00:00Z"}},
		"by a clock that is ahead":            {"2016-01-04T02:00:00Z noted 2016-01-05T02:03:40Z", "2016-01-05T02:03:10Z", []string{"2016-01-05T02:00:00Z"}},
		"the same manifest again in May":      {"2016-01-05T02:00:00Z noted 2016-01-05T02:03:10Z", "2016-05-19T10:00:01Z", nil},
		"the same manifest again the day on":  {"2016-01-05T02:00:00Z noted 2016-01-05T02:03:10Z", "2016-01-06T10:00:01Z", nil},
		"the same without the second in May":  {"2016-01-05T02:00:00Z", "2016-05-19T10:00:01Z", nil},
		"without the second, the day before":  {"2016-01-04T02:00:00Z", "2016-01-05T02:03:10Z", nil},
		"without the second, by the same day": {"2016-01-05T02:00:00Z", "2016-01-05T02:03:10Z", nil},
	} {
		t.Run(name, func(t *testing.T) {
			created, now := at(test.created), at(test.created).Add(2*time.Second)
			object := stored(noted(test.noted))
			object.CreationTimestamp = metav1.NewTime(created)
			c := restored(t, cronSpec("0 2 * * *"), created, ostinatov1.CronJobStatus{
				LastScheduleTime: schedule.LastScheduleTime(object, now),
			}, nil)
			if started := c.at(now).started(); !slices.Equal(started, test.started) {
				t.Errorf("started %v, want %v", started, test.started)
			}
		})
	}
}

// A time long ago that somebody has noted starts no more than one in the status would.
func TestATimeThatWasNotedBringsNoFlood(t *testing.T) {
	for name, test := range map[string]struct {
		noted   string
		options []specOption
		started int
		first   string
	}{
		"a minute ago":                      {"2016-05-19T09:59:00Z noted 2016-05-19T10:00:00Z", nil, 1, "10:00"},
		"two minutes ago, the latest":       {"2016-05-19T09:58:00Z noted 2016-05-19T10:00:00Z", nil, 1, "10:00"},
		"this minute's":                     {"2016-05-19T10:00:00Z noted 2016-05-19T10:00:00Z", nil, 0, ""},
		"years ago, the latest":             {"2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z", nil, 1, "10:00"},
		"years ago, all up to the limit":    {"2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z", []specOption{catchUpAll, catchUpLimit(7)}, 7, "09:54"},
		"years ago, all by default":         {"2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z", []specOption{catchUpAll}, 100, "08:21"},
		"years ago, those of a window":      {"2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z", []specOption{catchUpAll, catchUpWindow(300)}, 5, "09:56"},
		"years ago, none but what is due":   {"2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z", []specOption{catchUpNone}, 1, "10:00"},
		"years ago, by a deadline":          {"2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z", []specOption{deadline(10)}, 1, "10:00"},
		"years ago, too late by a deadline": {"2015-01-01T00:00:00Z noted 2016-05-19T10:00:00Z", []specOption{deadline(1)}, 0, ""},
		"years ago, in a note years ago":    {"2015-01-01T00:00:00Z noted 2015-01-01T00:01:00Z", []specOption{catchUpAll}, 0, ""},
		"years ago, undated":                {"2015-01-01T00:00:00Z", []specOption{catchUpAll}, 0, ""},
		"this hour's, undated":              {"2016-05-19T09:00:01Z", []specOption{catchUpAll}, 60, "09:01"},
		"in the future is as if not noted":  {"2016-05-19T10:30:00Z noted 2016-05-19T10:00:00Z", nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			created, now := at("10:00:01"), at("10:00:03")
			object := stored(noted(test.noted))
			object.CreationTimestamp = metav1.NewTime(created)
			c := restored(t, cronSpec("* * * * *", test.options...), created, ostinatov1.CronJobStatus{
				LastScheduleTime: schedule.LastScheduleTime(object, now),
			}, nil)
			starts := c.at(now).started()
			if len(starts) != test.started {
				t.Fatalf("%d runs started, want %d", len(starts), test.started)
			}
			if test.first != "" && starts[0] != at(test.first).Format(time.RFC3339) {
				t.Errorf("the first is that of %s, want %s", starts[0], test.first)
			}
		})
	}
}
