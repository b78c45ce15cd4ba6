package workflows_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// answering makes the API server answer dry runs, and keeps when each came.
func (k *cronJobKube) answering(judgements ...schedule.Judgement) *[]time.Duration {
	asked := &[]time.Duration{}
	k.judge = func() *schedule.Judgement {
		judgement := judgements[min(len(*asked), len(judgements)-1)]
		judgement.Generation, judgement.At = k.object.Generation, k.environment.Now()
		*asked = append(*asked, k.environment.Now().Sub(cronStart))
		return &judgement
	}
	return asked
}

// An edit of the template costs one dry run, and no call more; a run costs none.
func TestCronJobTemplateIsJudgedOnceForEachGeneration(t *testing.T) {
	k := newCronJobKube(t)
	asked := k.answering(schedule.Judgement{}, schedule.Judgement{Refusal: "no such volume"})
	edited := cron("* * * * *", allow)
	edited.Generation = 2
	k.signalSpec(165*time.Second, edited)
	k.after(200*time.Second, func() {
		condition := meta.FindStatusCondition(k.status.Conditions, ostinatov1.ConditionTemplateValid)
		if condition == nil || condition.Message != "no such volume" || condition.ObservedGeneration != 2 {
			t.Errorf("condition %+v", condition)
		}
	})
	k.runUntil(5*time.Minute, cron("* * * * *", allow))
	if len(*asked) != 2 || (*asked)[0] != 0 || (*asked)[1] != 165*time.Second {
		t.Errorf("dry runs after %v", *asked)
	}
	expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00", "03:00", "04:00")
	// The 18 of as many runs without an edit, one that finds the edit, and one for its status.
	// That the fourth run's Job was taken after all is said with the start.
	if len(k.requests) != 20 {
		t.Errorf("%d calls, want 20", len(k.requests))
	}
}

func TestCronJobOutageOfTheDryRunHoldsNothingUp(t *testing.T) {
	k := newCronJobKube(t)
	unknown := schedule.Judgement{Unknown: true}
	asked := k.answering(unknown, unknown, unknown, schedule.Judgement{})
	k.runUntil(3*time.Minute, cron("* * * * *", allow))
	for index, want := range []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second} {
		if len(*asked) != 4 || (*asked)[index].Truncate(5*time.Second) != want {
			t.Fatalf("dry runs after %v", *asked)
		}
	}
	for _, run := range k.jobs {
		if late := run.Started.Sub(run.Scheduled); late > time.Second {
			t.Errorf("the run of %s was %s late", run.Scheduled, late)
		}
	}
	if condition := meta.FindStatusCondition(k.status.Conditions, ostinatov1.ConditionTemplateValid); condition == nil || condition.ObservedGeneration != 1 {
		t.Errorf("condition %+v", condition)
	}
}
