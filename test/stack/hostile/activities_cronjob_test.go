package hostile

import (
	"maps"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// TestNoActivityActsForACronJobThatIsNot: of no UID, of another one, elsewhere, or of
// batch/v1, which this stack does not take over.
func TestNoActivityActsForACronJobThatIsNot(t *testing.T) {
	t.Parallel()
	namespace, elsewhere := stack.Namespace(t), stack.Namespace(t)
	attacker, others := newAttacker(t), newBystanders(t, namespace)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, others.native.Name, harness.Yearly, harness.JobSpec()))
	noUID, oldUID, inOther := referenceTo(cronJob), referenceTo(cronJob), referenceTo(cronJob)
	noUID.UID, oldUID.UID, inOther.Namespace = "", "00000000-0000-0000-0000-000000000000", elsewhere
	for name, test := range map[string]struct {
		reference protocol.ObjectReference
		// refused is the type of the error; empty where the CronJob is said to be gone.
		refused string
	}{
		"no UID":                          {noUID, protocol.InvalidRequestErrorType},
		"re-created":                      {oldUID, ""},
		"in another namespace":            {inOther, ""},
		"native":                          {native(referenceTo(others.native)), activities.NotTakenOverErrorType},
		"native, said to be ours":         {referenceTo(others.native), ""},
		"native, no UID":                  {native(noUID), protocol.InvalidRequestErrorType},
		"native, re-created":              {native(oldUID), activities.NotTakenOverErrorType},
		"ours, said to be native":         {native(referenceTo(cronJob)), activities.NotTakenOverErrorType},
		"a built-in Job, as if native":    {native(referenceTo(others.builtIn)), activities.NotTakenOverErrorType},
		"a built-in Job, as if a CronJob": {referenceTo(others.builtIn), ""},
	} {
		for activity, request := range map[string]any{
			protocol.StartRunActivity: protocol.StartRunRequest{
				CronJob: test.reference, Digest: schedule.SpecOf(cronJob).Digest(), Start: triggered(cronJob, test.reference, 1),
				Status: &ostinatov1.CronJobStatus{ObservedGeneration: 77},
			},
			protocol.WriteStatusActivity: protocol.WriteStatusRequest{
				CronJob: test.reference, Digest: schedule.SpecOf(cronJob).Digest(), Status: &ostinatov1.CronJobStatus{ObservedGeneration: 77}, Judge: true,
			},
			protocol.FindRunsActivity:   protocol.FindRunsRequest{CronJob: test.reference, All: true},
			protocol.SetSuspendActivity: protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: test.reference, Wish: protocol.Wish{Suspend: true, At: time.Now()}},
		} {
			t.Run(name+"/"+activity, func(t *testing.T) {
				given := attacker.ask(t, activity, request)
				if test.refused != "" {
					wantRefused(t, given, test.refused)
				} else if result := tells[struct{ Gone bool }](t, given); !result.Gone {
					t.Errorf("answer %s", given.Result)
				}
				wantNoRun(t, cronJob)
				others.wantUnchanged(t)
			})
		}
	}
}

func triggered(cronJob *ostinatov1.CronJob, reference protocol.ObjectReference, sequence int64) schedule.Start {
	name := names.TriggeredJob(cronJob.Name, reference.UID, sequence)
	return schedule.Start{Name: name, Scheduled: time.Now().Truncate(time.Second), Manual: true, Sequence: sequence}
}

// wantNoRun checks that the CronJob is as it was: not suspended, and without a Job.
func wantNoRun(t *testing.T, cronJob *ostinatov1.CronJob) {
	t.Helper()
	found, err := stack.CronJob(t.Context(), cronJob.Namespace, cronJob.Name)
	if err != nil {
		t.Fatal(err)
	}
	if found.Generation != cronJob.Generation || found.UID != cronJob.UID || len(found.Status.Active) != 0 || found.Status.ObservedGeneration != found.Generation {
		t.Errorf("the CronJob is %+v with status %+v", found.ObjectMeta, found.Status)
	}
	jobs, err := stack.Jobs(t.Context(), cronJob.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, made := range jobs {
		if metav1.IsControlledBy(&made, found) {
			t.Errorf("there is Job %s", made.Name)
		}
	}
}

// TestOnlyRunsThatTheCronJobPrescribesStart: by its schedule, and under its names.
func TestOnlyRunsThatTheCronJobPrescribesStart(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	attacker := newAttacker(t)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec()))
	now := time.Now().UTC().Truncate(time.Minute)
	scheduled := func(at time.Time) schedule.Start {
		return schedule.Start{Name: names.ScheduledJob(cronJob.Name, at), Scheduled: at}
	}
	misnamed := triggered(cronJob, referenceTo(cronJob), 1)
	misnamed.Name = "web"
	backfilled := func(name string, at time.Time) schedule.Start {
		return schedule.Start{Name: name, Scheduled: at, Manual: true, Sequence: 1, Backfill: 1}
	}
	newYear := time.Date(now.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	overlapping := scheduled(newYear)
	overlapping.Overlap = batchv1.ReplaceConcurrent
	for name, start := range map[string]schedule.Start{
		"no time of the schedule":    scheduled(now),
		"a time to come":             scheduled(time.Date(now.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)),
		"a trigger of another name":  misnamed,
		"a backfill of no such time": backfilled(names.BackfilledJob(cronJob.Name, string(cronJob.UID), 1, now), now),
		"a backfill of another name": backfilled(names.ScheduledJob(cronJob.Name, newYear), newYear),
		"a run that asks to replace": overlapping,
		"a scheduled run's name":     {Name: "web", Scheduled: time.Date(now.Year(), 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			request := protocol.StartRunRequest{CronJob: referenceTo(cronJob), Digest: schedule.SpecOf(cronJob).Digest(), Start: start}
			given := attacker.ask(t, protocol.StartRunActivity, request)
			result := tells[protocol.StartRunResult](t, given)
			if result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed {
				t.Errorf("answer %s", given.Result)
			}
			wantNoRun(t, cronJob)
		})
	}
}

// TestNoJobIsDeletedThatTheCronJobDoesNotControl, and none that runs.
func TestNoJobIsDeletedThatTheCronJobDoesNotControl(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	attacker, others := newAttacker(t), newBystanders(t, namespace)
	cronJob := stack.AddCronJob(t, harness.NewCronJob(namespace, "yearly", harness.Yearly, harness.JobSpec(harness.RunSeconds(600))))
	ours := victim(t, namespace, "ours")
	run := stack.Trigger(t, namespace, cronJob.Name)
	running, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), run, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]*batchv1.Job{"the built-in controller's": others.builtIn, "another controller's": others.another, "a Job of ours": ours, "its own, which runs": running}
	for number, name := range slices.Sorted(maps.Keys(targets)) {
		target := targets[name]
		untouched := func(t *testing.T) {
			t.Helper()
			found, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), target.Name, metav1.GetOptions{})
			if err != nil || found.UID != target.UID || found.DeletionTimestamp != nil {
				t.Errorf("Job %s: %v", target.Name, err)
			}
			others.wantUnchanged(t)
		}
		reference, digest := referenceTo(cronJob), schedule.SpecOf(cronJob).Digest()
		deletes := []schedule.Delete{{Name: target.Name, UID: string(target.UID), Replaced: true}}
		t.Run(name+"/as history", func(t *testing.T) {
			request := protocol.WriteStatusRequest{CronJob: reference, Digest: digest, Prune: deletes}
			given := attacker.ask(t, protocol.WriteStatusActivity, request)
			tells[protocol.WriteStatusResult](t, given)
			untouched(t)
		})
		t.Run(name+"/as replaced", func(t *testing.T) {
			// The CronJob does not replace, and neither does this trigger.
			start := triggered(cronJob, reference, int64(77+number))
			request := protocol.StartRunRequest{CronJob: reference, Digest: digest, Start: start, Replace: deletes}
			given := attacker.ask(t, protocol.StartRunActivity, request)
			if result := tells[protocol.StartRunResult](t, given); target == running && result.Refused == nil {
				t.Errorf("answer %s", given.Result)
			}
			untouched(t)
		})
		t.Run(name+"/as ended", func(t *testing.T) {
			request := protocol.FindRunsRequest{CronJob: reference, Digest: digest, Look: []schedule.Run{{Name: target.Name, UID: string(target.UID)}}}
			given := attacker.ask(t, protocol.FindRunsActivity, request)
			for _, ended := range tells[protocol.FindRunsResult](t, given).Ended {
				// Of a Job that is not the CronJob's nothing is told.
				if ended.Condition != schedule.JobDeleted || !ended.StartTime.IsZero() {
					t.Errorf("ended %+v", ended)
				}
			}
			untouched(t)
		})
	}
}
