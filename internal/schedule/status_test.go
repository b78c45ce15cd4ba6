package schedule_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

func TestStatusStarted(t *testing.T) {
	run := schedule.Run{Name: "hello-1", UID: "u1", Scheduled: at("10:00"), ResourceVersion: "7"}
	before := ostinatov1.CronJobStatus{LastScheduleTime: &metav1.Time{Time: at("09:00")}}
	once := schedule.StatusStarted(before, run, namespace)
	want := []corev1.ObjectReference{{
		Kind: "Job", APIVersion: "batch/v1", Namespace: namespace, Name: "hello-1", UID: "u1", ResourceVersion: "7",
	}}
	if !reflect.DeepEqual(once.Active, want) || !once.LastScheduleTime.Time.Equal(at("10:00")) {
		t.Errorf("got %+v", once)
	}
	if twice := schedule.StatusStarted(once, run, namespace); !reflect.DeepEqual(twice, once) {
		t.Errorf("not idempotent: %+v", twice)
	}
	if len(before.Active) != 0 || !before.LastScheduleTime.Time.Equal(at("09:00")) {
		t.Error("its argument was changed")
	}
	run.UID, run.Manual = "u2", true
	if manual := schedule.StatusStarted(before, run, namespace); !manual.LastScheduleTime.Time.Equal(at("09:00")) || len(manual.Active) != 1 {
		t.Errorf("manual run: %+v", manual)
	}
}

func condition(t *testing.T, status ostinatov1.CronJobStatus, kind string) metav1.Condition {
	t.Helper()
	for _, condition := range status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	t.Fatalf("no condition %s in %+v", kind, status.Conditions)
	return metav1.Condition{}
}

func TestConditions(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30:05"))
	valid := condition(t, c.status, ostinatov1.ConditionScheduleValid)
	if valid.Status != metav1.ConditionTrue || valid.Reason != "ScheduleParsed" || valid.ObservedGeneration != 1 {
		t.Errorf("got %+v", valid)
	}
	c.edit(at("09:40"), suspended, func(s *schedule.Spec) { s.Schedule = "nonsense" })
	valid = condition(t, c.status, ostinatov1.ConditionScheduleValid)
	if valid.Status != metav1.ConditionFalse || valid.Reason != "UnparseableSchedule" || valid.ObservedGeneration != 2 ||
		valid.Message != `unparseable schedule: "nonsense" : expected exactly 5 fields, found 1: [nonsense]` {
		t.Errorf("a suspended CronJob's schedule is judged too: %+v", valid)
	}
	wantTime(t, "transition", valid.LastTransitionTime.Time, "09:40")
	if s := condition(t, c.status, ostinatov1.ConditionSuspended); s.Status != metav1.ConditionTrue || s.Reason != "Suspended" {
		t.Errorf("got %+v", s)
	}
	c.edit(at("09:50"), func(s *schedule.Spec) { s.Schedule = "worse nonsense" })
	valid = condition(t, c.status, ostinatov1.ConditionScheduleValid)
	wantTime(t, "transition while still false", valid.LastTransitionTime.Time, "09:40")
	if valid.ObservedGeneration != 3 || c.status.ObservedGeneration != 3 {
		t.Errorf("observed %d, %d", valid.ObservedGeneration, c.status.ObservedGeneration)
	}
	c.edit(at("10:10"), func(s *schedule.Spec) { s.Schedule, s.Suspend = "0 * * * *", false })
	wantTime(t, "transition to true", condition(t, c.status, ostinatov1.ConditionScheduleValid).LastTransitionTime.Time, "10:10")
	wantTime(t, "next", c.status.NextScheduleTime.Time, "11:00")
}

func TestStateIsRestoredFromTheObject(t *testing.T) {
	old := newCluster(t, cronSpec("0 * * * *"), at("08:30")).at(at("09:00")).at(at("10:00"))
	done := schedule.Finished{
		Run: old.state.Active[0], Condition: batchv1.JobComplete, StartTime: at("09:00:01"), CompletionTime: at("10:05"),
	}
	c := restored(t, old.spec, at("08:30"), old.status, []schedule.Finished{done}).at(at("12:30"))
	wantStrings(t, "runs", c.started(), "2016-05-19T12:00:00Z")
	wantStrings(t, "ledger", c.ledger(),
		"19T09:00:00 Started", "19T10:00:00 Started", "19T11:00:00 SkippedSuperseded Outage", "19T12:00:00 StartedLate Outage")
	wantStrings(t, "a run that ended meanwhile is announced", c.reasons(), "SawCompletedJob")
	if got := c.events[0].Message; got != "Saw completed job: hello-24394140, condition: Complete" {
		t.Errorf("got %q", got)
	}
	wantTime(t, "last successful", c.status.LastSuccessfulTime.Time, "10:05")
	if len(c.state.Active) != 2 || !c.state.Active[0].Scheduled.Equal(at("10:00")) {
		t.Errorf("active: %+v", c.state.Active)
	}
	for _, before := range old.status.Conditions {
		if after := c.condition(before.Type); !after.LastTransitionTime.Equal(&before.LastTransitionTime) {
			t.Errorf("transition time of %s changed", before.Type)
		}
	}
}

func TestASuspensionIsRestoredFromTheObject(t *testing.T) {
	old := newCluster(t, cronSpec("0 * * * *"), at("08:30")).at(at("09:00")).edit(at("09:30"), suspended)
	c := restored(t, old.spec, at("08:30"), old.status, nil).at(at("10:30"))
	c.edit(at("11:30"), func(s *schedule.Spec) { s.Suspend = false })
	wantStrings(t, "ledger", c.ledger(),
		"19T09:00:00 Started", "19T10:00:00 SkippedSuspended Suspended", "19T11:00:00 StartedLate Suspended")
}

func TestStateSurvivesContinueAsNew(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", forbid, zone("Europe/Paris")), at("09:30")).at(at("10:00")).at(at("11:00"))
	c.trigger(at("11:01"))
	encoded, err := json.Marshal(c.state)
	if err != nil {
		t.Fatal(err)
	}
	var decoded schedule.State
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(encoded) {
		t.Errorf("not stable:\n%s\n%s", encoded, again)
	}
	c.state, c.calls = decoded, 0
	if c.at(at("11:01:30")); c.calls != 0 || c.evaluations != 1 {
		t.Errorf("%d calls, %d evaluations after the round trip", c.calls, c.evaluations)
	}
}

func TestARunThatGoesAway(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
	c.state = schedule.Missing(c.state, schedule.Run{Name: c.starts[0].Name}, at("10:01"))
	c.at(at("10:01"))
	if len(c.status.Active) != 0 || c.events[0].Message != "Active job went missing: hello-24394200" {
		t.Errorf("active %+v, events %+v", c.status.Active, c.events)
	}
	c.state = schedule.Missing(c.state, schedule.Run{Name: "of somebody else"}, at("10:02"))
	if c.at(at("10:02")); len(c.events) != 1 {
		t.Errorf("events: %+v", c.events)
	}
}

func TestAFinishThatIsToldTwiceCountsOnce(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("10:00"))
	finished := schedule.Finished{Run: c.state.Active[0], Condition: batchv1.JobComplete, CompletionTime: at("10:01")}
	for range 2 {
		c.state = schedule.Finish(c.state, c.spec, finished)
		c.at(at("10:02"))
	}
	if len(c.events) != 1 || len(c.state.Finished) != 1 {
		t.Errorf("events %+v, finished %+v", c.events, c.state.Finished)
	}
}

func TestHistoryLimits(t *testing.T) {
	finished := func(name string, kind batchv1.JobConditionType, start string) schedule.Finished {
		f := schedule.Finished{Run: schedule.Run{Name: name, UID: "uid-" + name}, Condition: kind}
		if start != "" {
			f.StartTime = at(start)
		}
		return f
	}
	all := []schedule.Finished{
		finished("c", batchv1.JobComplete, "09:03"), finished("unstarted", batchv1.JobComplete, ""),
		finished("a", batchv1.JobComplete, "09:01"), finished("b2", batchv1.JobComplete, "09:02"),
		finished("b1", batchv1.JobComplete, "09:02"), finished("f2", batchv1.JobFailed, "09:02"),
		finished("f1", batchv1.JobFailed, "09:01"),
	}
	for name, test := range map[string]struct {
		options []specOption
		want    []string
	}{
		"each kind's oldest go, equal times by name, unstarted last": {[]specOption{limits(2, 1)}, []string{"a", "b1", "b2", "f1"}},
		"nothing is kept at 0":           {[]specOption{limits(0, 0)}, []string{"a", "b1", "b2", "c", "unstarted", "f1", "f2"}},
		"nothing goes within the limits": {[]specOption{limits(5, 2)}, nil},
		"also while suspended":           {[]specOption{limits(5, 1), suspended}, []string{"f1"}},
		"also while being deleted":       {[]specOption{limits(5, 1), deleting}, []string{"f1"}},
		"also with a bad schedule":       {[]specOption{limits(5, 1), func(s *schedule.Spec) { s.Schedule = "?" }}, []string{"f1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := restored(t, cronSpec("0 0 1 1 *", test.options...), at("09:30"), ostinatov1.CronJobStatus{}, all).at(at("09:30"))
			var names []string
			for _, wanted := range c.deletes {
				names = append(names, wanted.Name)
			}
			wantStrings(t, "deleted", names, test.want...)
		})
	}
}

func TestWithoutHistoryACompletedJobIsNotAnnounced(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", limits(0, 1)), at("09:30")).at(at("10:00"))
	c.finish(batchv1.JobComplete, at("10:01"))
	if len(c.events) != 0 || len(c.deletes) != 1 || len(c.status.Active) != 0 || c.status.LastSuccessfulTime == nil {
		t.Errorf("events %+v, deletes %+v, status %+v", c.events, c.deletes, c.status)
	}
}

func TestAFailedHistoryDeleteIsRepeatedWithBackOff(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", limits(0, 0)), at("09:30")).at(at("10:00"))
	c.stuck = []string{c.starts[0].Name}
	c.finish(batchv1.JobComplete, at("10:01"))
	wantTime(t, "retry", c.wake, "10:01:10")
	c.at(c.wake)
	wantTime(t, "retry", c.wake, "10:01:30")
	c.stuck = nil
	c.at(c.wake)
	if len(c.deletes) != 1 {
		t.Errorf("deletes %+v", c.deletes)
	}
	wantTime(t, "then the next run", c.wake, "11:00")
}

func TestSpecOfDefaults(t *testing.T) {
	spec := schedule.SpecOf(&ostinatov1.CronJob{ObjectMeta: metav1.ObjectMeta{Generation: 4, DeletionTimestamp: ptr.To(metav1.NewTime(time.Unix(0, 0)))}})
	if spec.ConcurrencyPolicy != batchv1.AllowConcurrent || spec.SuccessfulJobsHistoryLimit != 3 ||
		spec.FailedJobsHistoryLimit != 1 || spec.Suspend || !spec.Deleting || spec.Generation != 4 {
		t.Errorf("got %+v", spec)
	}
}
