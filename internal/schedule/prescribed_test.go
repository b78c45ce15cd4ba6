package schedule_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// stored is the CronJob hello as the API server has it, hourly in UTC.
func stored(options ...func(*ostinatov1.CronJob)) *ostinatov1.CronJob {
	object := &ostinatov1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello", UID: "hello-uid"},
		Spec:       ostinatov1.CronJobSpec{Schedule: "0 * * * *", TimeZone: ptr.To("UTC")},
	}
	for _, option := range options {
		option(object)
	}
	return object
}

func by(expression string) func(*ostinatov1.CronJob) {
	return func(object *ostinatov1.CronJob) { object.Spec.Schedule = expression }
}

func run(scheduled time.Time) schedule.Start {
	return schedule.Start{Name: names.ScheduledJob("hello", scheduled), Scheduled: scheduled}
}

func triggered(sequence int64, scheduled time.Time) schedule.Start {
	return schedule.Start{Name: names.TriggeredJob("hello", "hello-uid", sequence), Scheduled: scheduled, Manual: true, Sequence: sequence}
}

func backfilled(sequence int64, scheduled time.Time) schedule.Start {
	start := triggered(sequence, scheduled)
	start.Name, start.Backfill = names.BackfilledJob("hello", "hello-uid", sequence, scheduled), sequence
	return start
}

func overlapping(start schedule.Start, overlap batchv1.ConcurrencyPolicy) schedule.Start {
	start.Overlap = overlap
	return start
}

// A start is too late by the deadline that the CronJob has, whatever the plan says; a deadline is for scheduled runs.
func TestAStartIsTooLateByTheObjectsOwnDeadline(t *testing.T) {
	before := run(at("10:00"))
	before.Before = at("10:00:05")
	for name, test := range map[string]struct {
		deadline *int64
		start    schedule.Start
		now      string
		late     bool
	}{
		"no deadline":                        {nil, run(at("10:00")), "23:00", false},
		"within the deadline":                {ptr.To[int64](30), run(at("10:00")), "10:00:30", false},
		"after the deadline":                 {ptr.To[int64](30), run(at("10:00")), "10:00:31", true},
		"a deadline of 0, on time":           {ptr.To[int64](0), run(at("10:00")), "10:00", false},
		"a deadline of 0, a second later":    {ptr.To[int64](0), run(at("10:00")), "10:00:01", true},
		"the plan's, within the object's":    {ptr.To[int64](30), before, "10:00:05", true},
		"a trigger":                          {ptr.To[int64](30), triggered(7, at("10:00")), "11:00", false},
		"a backfill":                         {ptr.To[int64](30), backfilled(7, at("10:00")), "11:00", false},
		"the longest deadline that there is": {ptr.To[int64](1 << 62), run(at("10:00")), "23:00", false},
	} {
		spec := schedule.SpecOf(stored())
		spec.StartingDeadlineSeconds = test.deadline
		if late := test.start.IsTooLate(spec, at(test.now)); late != test.late {
			t.Errorf("%s: too late %t, want %t", name, late, test.late)
		}
	}
}

func TestPrescribed(t *testing.T) {
	now := at("10:00:02")
	lastRun := func(text string) func(*ostinatov1.CronJob) {
		return func(object *ostinatov1.CronJob) { object.Status.LastScheduleTime = ptr.To(metav1.NewTime(at(text))) }
	}
	inZone := func(name string) func(*ostinatov1.CronJob) {
		return func(object *ostinatov1.CronJob) { object.Spec.TimeZone = &name }
	}
	suspended := func(object *ostinatov1.CronJob) { object.Spec.Suspend = ptr.To(true) }
	deleting := func(object *ostinatov1.CronJob) { object.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }
	misnamed, manual := run(at("10:00")), triggered(7, at("09:59"))
	misnamed.Name = "hello-1"
	ofAnother := triggered(7, at("09:59"))
	ofAnother.Name = names.TriggeredJob("hello", "old-uid", 7)
	otherNumber := triggered(7, at("09:59"))
	otherNumber.Sequence = 8
	misnamedBackfill, scheduledBackfill := backfilled(7, at("08:00")), backfilled(7, at("08:00"))
	misnamedBackfill.Name, scheduledBackfill.Manual = manual.Name, false
	tests := map[string]struct {
		object  *ostinatov1.CronJob
		start   schedule.Start
		refusal string
	}{
		"a time of the schedule":             {stored(), run(at("10:00")), ""},
		"the time that was missed before":    {stored(), run(at("08:00")), ""},
		"the last one again":                 {stored(lastRun("10:00")), run(at("10:00")), "the run of this time or of a later one has started"},
		"the next one":                       {stored(lastRun("09:00")), run(at("10:00")), ""},
		"the next one after a move":          {stored(created("10:00"), noted("2016-05-19T09:00:00Z noted 2016-05-19T10:00:00Z")), run(at("10:00")), ""},
		"one before the creation":            {stored(created("09:30")), run(at("09:00")), "the CronJob's times count from 2016-05-19T09:30:00Z"},
		"one at the creation":                {stored(created("09:00")), run(at("09:00")), ""},
		"one since a move, before its end":   {stored(created("09:30"), noted("2016-05-19T08:00:00Z noted 2016-05-19T09:29:59Z")), run(at("09:00")), ""},
		"one since a move that was noted":    {stored(created("09:30"), noted("2016-05-19T08:00:00Z noted 2016-05-19T09:29:59Z"), lastRun("08:00")), run(at("09:00")), ""},
		"one before a move that was noted":   {stored(created("09:30"), noted("2016-05-19T08:00:00Z noted 2016-05-19T09:29:59Z")), run(at("07:00")), "the CronJob's times count from"},
		"one since a move of another day":    {stored(created("09:30"), noted("2016-05-18T08:00:00Z noted 2016-05-18T08:00:10Z")), run(at("09:00")), "the CronJob's times count from 2016-05-19T09:30:00Z"},
		"one since the last run of old":      {stored(created("09:30"), lastRun("06:00")), run(at("07:00")), ""},
		"a note of a time to come":           {stored(created("09:30"), noted("2016-05-19T12:00:00Z noted 2016-05-19T09:29:59Z")), run(at("09:00")), "the CronJob's times count from"},
		"a trigger before the creation":      {stored(created("09:30")), triggered(7, at("09:00")), ""},
		"a backfill before the creation":     {stored(created("09:30")), backfilled(7, at("08:00")), ""},
		"due by a clock that is ahead":       {stored(by("* * * * *")), run(at("10:01")), ""},
		"a time of its zone":                 {stored(by("0 12 * * *"), inZone("Europe/Berlin")), run(at("10:00")), ""},
		"an interval":                        {stored(by("@every 90s")), run(at("09:59:17")), ""},
		"a trigger":                          {stored(), manual, ""},
		"a trigger while it is suspended":    {stored(suspended), manual, ""},
		"a trigger past a later run":         {stored(lastRun("10:00")), manual, ""},
		"a trigger that asks for overlap":    {stored(), overlapping(manual, "Replace"), ""},
		"a trigger that asks for nonsense":   {stored(), overlapping(manual, "Sometimes"), "no run may ask for overlap"},
		"a run that asks for overlap":        {stored(), overlapping(run(at("10:00")), "Allow"), "no run may ask for overlap"},
		"a backfilled run":                   {stored(), backfilled(7, at("08:00")), ""},
		"a backfilled run while suspended":   {stored(suspended), backfilled(7, at("08:00")), ""},
		"a backfilled run past a later one":  {stored(lastRun("10:00")), backfilled(7, at("08:00")), ""},
		"a backfilled time to come":          {stored(), backfilled(7, at("11:00")), "has not come"},
		"a backfilled time of no schedule":   {stored(), backfilled(7, at("08:30")), "no time of the schedule"},
		"a backfilled time of long ago":      {stored(), backfilled(7, at("2014-12-31T08:00:00Z")), "no time of the schedule"},
		"a backfill with a trigger's name":   {stored(), misnamedBackfill, "has not the name of 2016-05-19T08:00:00Z in backfill 7"},
		"a backfill of a scheduled run":      {stored(), scheduledBackfill, "a backfilled run is a manual one"},
		"a backfill that is to be deleted":   {stored(deleting), backfilled(7, at("08:00")), "being deleted"},
		"suspended":                          {stored(suspended), run(at("10:00")), "suspended"},
		"being deleted":                      {stored(deleting), run(at("10:00")), "being deleted"},
		"a trigger while it is deleted":      {stored(deleting), manual, "being deleted"},
		"a time to come":                     {stored(), run(at("11:00")), "has not come"},
		"a trigger to come":                  {stored(), triggered(7, at("11:00")), "has not come"},
		"before the last one":                {stored(lastRun("10:00")), run(at("09:00")), "of a later one has started"},
		"no time of the schedule":            {stored(), run(at("09:30")), "no time of the schedule"},
		"no whole minute":                    {stored(), run(at("10:00:01")), "no time of the schedule"},
		"a time of another zone":             {stored(by("0 12 * * *"), inZone("Europe/Berlin")), run(at("09:00")), "no time of the schedule"},
		"a time before there were CronJobs":  {stored(), run(at("0001-01-01T00:00:00Z")), "no time of the schedule"},
		"a schedule that can't be read":      {stored(by("often")), run(at("10:00")), "no time of the schedule"},
		"another name":                       {stored(), misnamed, `"hello-1" has not the name of the run`},
		"a trigger with a name of its own":   {stored(), schedule.Start{Name: "web", Scheduled: at("09:59"), Manual: true}, "has not the name of trigger 0"},
		"a trigger of an object before":      {stored(), ofAnother, "has not the name of trigger 7"},
		"a trigger with another's name":      {stored(), otherNumber, "has not the name of trigger 8"},
		"a run by name that is no trigger's": {stored(), schedule.Start{Name: run(at("10:00")).Name, Scheduled: at("10:00"), Manual: true}, "has not the name of trigger"},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			refusal := schedule.Prescribed(test.object, test.start, now)
			if (refusal == "") != (test.refusal == "") || !strings.Contains(refusal, test.refusal) {
				t.Errorf("refusal %q, want %q", refusal, test.refusal)
			}
		})
	}
}

func TestReplaceable(t *testing.T) {
	const refused = "the Job runs, and concurrencyPolicy is not Replace"
	for name, test := range map[string]struct {
		policy  batchv1.ConcurrencyPolicy
		refusal string
		start   *schedule.Start
	}{
		"Replace":   {batchv1.ReplaceConcurrent, "", nil},
		"Allow":     {batchv1.AllowConcurrent, refused, nil},
		"Forbid":    {batchv1.ForbidConcurrent, refused, nil},
		"no policy": {"", refused, nil},
		"for a trigger that asks for it": {
			batchv1.AllowConcurrent, "", &schedule.Start{Manual: true, Overlap: batchv1.ReplaceConcurrent},
		},
		"for a trigger that asks for another": {
			batchv1.ReplaceConcurrent, refused, &schedule.Start{Manual: true, Overlap: batchv1.AllowConcurrent},
		},
		"for a run that may not ask": {
			batchv1.AllowConcurrent, refused, &schedule.Start{Overlap: batchv1.ReplaceConcurrent},
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := stored(func(object *ostinatov1.CronJob) { object.Spec.ConcurrencyPolicy = test.policy })
			if refusal := schedule.Replaceable(object, test.start); refusal != test.refusal {
				t.Errorf("refusal %q, want %q", refusal, test.refusal)
			}
		})
	}
}
