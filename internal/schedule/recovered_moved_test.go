package schedule_test

import (
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
		"an empty status takes the note":        {stored(noted("2016-05-19T09:00:00Z")), "09:00"},
		"in another zone":                       {stored(noted("2016-05-19T11:00:00+02:00")), "09:00"},
		"with parts of a second":                {stored(noted("2016-05-19T09:00:00.9Z")), "09:00"},
		"this very second":                      {stored(noted("2016-05-19T10:00:02Z")), "10:00:02"},
		"a condition of the bridge is no run":   {stored(noted("2016-05-19T09:00:00Z"), status(ostinatov1.CronJobStatus{Conditions: []metav1.Condition{{Type: ostinatov1.ConditionNativeCronJobActive}}})), "09:00"},
		"the status knows better":               {stored(noted("2016-05-19T09:00:00Z"), status(ostinatov1.CronJobStatus{LastScheduleTime: timestamp("08:00")})), "08:00"},
		"a status without a run":                {stored(noted("2016-05-19T09:00:00Z"), status(ostinatov1.CronJobStatus{ObservedGeneration: 1})), ""},
		"a status with times without a run":     {stored(noted("2016-05-19T09:00:00Z"), status(ostinatov1.CronJobStatus{AccountedUntil: timestamp("08:00")})), ""},
		"a status that names its workflow":      {stored(noted("2016-05-19T09:00:00Z"), status(ostinatov1.CronJobStatus{Workflow: &ostinatov1.WorkflowReference{ID: "x"}})), ""},
		"a second in the future":                {stored(noted("2016-05-19T10:00:03Z")), ""},
		"far in the future":                     {stored(noted("9999-12-31T23:59:59Z")), ""},
		"before any CronJob":                    {stored(noted("1970-01-01T00:00:00Z")), ""},
		"the year 1":                            {stored(noted("0001-01-01T00:00:00Z")), ""},
		"long ago":                              {stored(noted("2015-01-01T00:00:00Z")), "2015-01-01T00:00:00Z"},
		"no time":                               {stored(noted("yesterday")), ""},
		"a time without a zone":                 {stored(noted("2016-05-19T09:00:00")), ""},
		"a time, and more":                      {stored(noted("2016-05-19T09:00:00Z\n")), ""},
		"more digits than a time has":           {stored(noted("2016-05-19T09:00:00." + strings.Repeat("0", 1000) + "Z")), ""},
		"a zone further away than any":          {stored(noted("2016-05-19T09:00:00+99:99")), ""},
		"what is empty is no time of the epoch": {stored(noted("")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			last := schedule.LastScheduleTime(test.object, at("10:00:02"))
			wantTime(t, "last run", ledger.Time(last), test.want)
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
		"a minute ago":                      {"2016-05-19T09:59:00Z", nil, 1, "10:00"},
		"two minutes ago, the latest":       {"2016-05-19T09:58:00Z", nil, 1, "10:00"},
		"this minute's":                     {"2016-05-19T10:00:00Z", nil, 0, ""},
		"years ago, the latest":             {"2015-01-01T00:00:00Z", nil, 1, "10:00"},
		"years ago, all up to the limit":    {"2015-01-01T00:00:00Z", []specOption{catchUpAll, catchUpLimit(7)}, 7, "09:54"},
		"years ago, all by default":         {"2015-01-01T00:00:00Z", []specOption{catchUpAll}, 100, "08:21"},
		"years ago, those of a window":      {"2015-01-01T00:00:00Z", []specOption{catchUpAll, catchUpWindow(300)}, 5, "09:56"},
		"years ago, none but what is due":   {"2015-01-01T00:00:00Z", []specOption{catchUpNone}, 1, "10:00"},
		"years ago, by a deadline":          {"2015-01-01T00:00:00Z", []specOption{deadline(10)}, 1, "10:00"},
		"years ago, too late by a deadline": {"2015-01-01T00:00:00Z", []specOption{deadline(1)}, 0, ""},
		"in the future is as if not noted":  {"2016-05-19T10:30:00Z", nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			created, now := at("10:00:01"), at("10:00:03")
			object := stored(noted(test.noted))
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
