package schedule_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

func refusing(message string) func(int64) schedule.Judgement {
	return func(int64) schedule.Judgement { return schedule.Judgement{Refusal: message} }
}

func unreached(int64) schedule.Judgement { return schedule.Judgement{Unknown: true} }

func wantTemplate(t *testing.T, c *cluster, status metav1.ConditionStatus, generation int64, message string) metav1.Condition {
	t.Helper()
	got := condition(t, c.status, ostinatov1.ConditionTemplateValid)
	if got.Status != status || got.ObservedGeneration != generation || got.Message != message {
		t.Errorf("got %+v", got)
	}
	return got
}

// One request for a generation, in a call that there is anyway; none for a run.
func TestEachGenerationIsJudgedOnce(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30:05"))
	if c.judged != 1 || c.calls != 1 {
		t.Errorf("%d judgements in %d calls", c.judged, c.calls)
	}
	wantTemplate(t, c, metav1.ConditionTrue, 1, "")
	for hour := range 8 {
		c.at(at("10:00").Add(time.Duration(hour) * time.Hour))
	}
	if len(c.starts) != 8 || c.judged != 1 || c.calls != 1+2*8 {
		t.Errorf("%d judgements and %d runs in %d calls", c.judged, len(c.starts), c.calls)
	}
	c.edit(at("17:30"))
	if c.judged != 2 || c.calls != 1+2*8+1 {
		t.Errorf("%d judgements in %d calls after an edit", c.judged, c.calls)
	}
	valid := wantTemplate(t, c, metav1.ConditionTrue, 2, "")
	wantTime(t, "transition", valid.LastTransitionTime.Time, "09:30:05")
}

func TestARefusedTemplateIsTriedAllTheSame(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	c.judge = refusing("no such volume")
	c.refuse, c.refusal = func(schedule.Start) string { return "no such volume" }, ledger.Invalid
	c.at(at("09:30:05"))
	wantTemplate(t, c, metav1.ConditionFalse, 1, "no such volume")
	wantTime(t, "next", c.status.NextScheduleTime.Time, "10:00")
	if c.status.Next != "InvalidTemplate" {
		t.Errorf("next is %q: kubectl get shows a CronJob that looks well", c.status.Next)
	}
	c.at(at("10:00")).at(at("10:00:10")).at(at("11:00"))
	wantStrings(t, "ledger", c.ledger(), "19T10:00:00 FailedToCreate Invalid")
	if c.judged != 1 {
		t.Errorf("%d judgements", c.judged)
	}

	c.judge, c.refuse = nil, nil
	c.edit(at("11:30"))
	valid := wantTemplate(t, c, metav1.ConditionTrue, 2, "")
	wantTime(t, "transition", valid.LastTransitionTime.Time, "11:30")
}

func TestASuspendedCronJobIsJudgedToo(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", suspended), at("09:30"))
	c.judge = refusing("no such volume")
	c.at(at("09:30:05"))
	wantTemplate(t, c, metav1.ConditionFalse, 1, "no such volume")
}

func TestACronJobThatIsBeingDeletedIsNotJudged(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", deleting), at("09:30")).at(at("09:30:05"))
	if c.judged != 0 {
		t.Errorf("%d judgements", c.judged)
	}
}

// While the API server can't be asked nothing waits for it, and nothing is said.
func TestAnOutageIsNoJudgement(t *testing.T) {
	c := newCluster(t, cronSpec("* * * * *"), at("09:30"))
	c.judge = unreached
	c.at(at("09:30:05"))
	for _, condition := range c.status.Conditions {
		if condition.Type == ostinatov1.ConditionTemplateValid {
			t.Errorf("got %+v", condition)
		}
	}
	wantTime(t, "asked again", c.wake, "09:30:15")
	c.at(at("09:30:15"))
	wantTime(t, "asked again", c.wake, "09:30:35")
	c.at(at("09:30:35")).at(at("09:31:00"))
	wantStrings(t, "runs", c.started(), "2016-05-19T09:31:00Z")
	if c.judged != 3 {
		t.Errorf("%d judgements: a run asks before the back-off is over", c.judged)
	}
	c.judge = nil
	c.at(at("09:31:15"))
	wantTemplate(t, c, metav1.ConditionTrue, 1, "")
	wantTime(t, "asked no more", c.wake, "09:32")
}

func TestAnEditEndsTheBackOff(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	c.judge = unreached
	c.at(at("09:30:05"))
	c.judge = refusing("no such volume")
	c.edit(at("09:30:07"))
	wantTemplate(t, c, metav1.ConditionFalse, 2, "no such volume")
	wantTime(t, "asked no more", c.wake, "10:00")
}

// With nothing to ask a wake for it would be over at once, time and again.
func TestARunThatProvesTheTemplateEndsTheBackOff(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30:05"))
	c.judge = unreached
	c.edit(at("09:59:55"))
	wantTime(t, "asked again", c.wake, "10:00")
	c.at(at("10:00"))
	wantTemplate(t, c, metav1.ConditionTrue, 2, "")
	wantTime(t, "asked no more", c.wake, "11:00")
	c.at(at("10:00:05"))
	wantTime(t, "asked no more", c.wake, "11:00")
}

// What was said of the generation before stays, as of that generation, until there is more.
func TestAnOldJudgementStaysWhatItIs(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30")).at(at("09:30:05"))
	c.judge = unreached
	c.edit(at("09:40"))
	wantTemplate(t, c, metav1.ConditionTrue, 1, "")
}

// A policy may change, and a dry run may see other than the run.
func TestARunProvesTheTemplate(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	c.judge = refusing("no team label")
	c.at(at("09:30:05")).at(at("10:00"))
	valid := wantTemplate(t, c, metav1.ConditionTrue, 1, "")
	wantTime(t, "transition", valid.LastTransitionTime.Time, "10:00")

	c.refuse, c.refusal = func(schedule.Start) string { return "too long" }, ledger.Invalid
	c.at(at("11:00"))
	wantTemplate(t, c, metav1.ConditionFalse, 1, "too long")
	if c.judged != 1 {
		t.Errorf("%d judgements", c.judged)
	}

	c.refuse = nil
	c.at(at("11:00:10"))
	wantTemplate(t, c, metav1.ConditionTrue, 1, "")
	c.refuse, c.refusal = func(schedule.Start) string { return "exceeded quota" }, "Forbidden"
	c.at(at("12:00"))
	wantTemplate(t, c, metav1.ConditionTrue, 1, "")
}

func TestTheJudgementIsRestoredFromTheObject(t *testing.T) {
	old := newCluster(t, cronSpec("0 * * * *"), at("09:30"))
	old.judge = refusing("no such volume")
	old.at(at("09:30:05"))
	c := restored(t, old.spec, at("09:30"), old.status, nil).at(at("09:45"))
	wantTemplate(t, c, metav1.ConditionFalse, 1, "no such volume")
	if c.judged != 0 {
		t.Errorf("%d judgements", c.judged)
	}
}

// A worker of the version before leaves the question out of its answer.
func TestAnAnswerWithoutAJudgement(t *testing.T) {
	spec, now := cronSpec("0 * * * *"), at("09:30:05")
	state := schedule.NewState(schedule.Identity{Namespace: namespace, Name: cronJobName, UID: cronJobUID, Created: at("09:30")}, ostinatov1.CronJobStatus{}, ledger.Ledger{}, nil)
	state = schedule.Take(state, spec, schedule.Evaluate(spec, state, now))
	plan := schedule.Decide(state, spec, now)
	if !plan.Judge || plan.Status == nil {
		t.Fatalf("plan %+v", plan)
	}
	next := schedule.Decide(schedule.Apply(plan, schedule.Report{}, now), spec, now)
	if !next.Judge || !next.Idle() {
		t.Errorf("without an answer the same is asked at once: %+v", next)
	}
	unknown := schedule.Apply(plan, schedule.Report{Judgement: &schedule.Judgement{Unknown: true}}, now)
	later := now.Add(time.Minute)
	again := schedule.Decide(unknown, spec, later)
	if !again.Judge || again.Idle() {
		t.Errorf("after an outage it is asked again: %+v", again)
	}
	if rest := schedule.Decide(schedule.Apply(again, schedule.Report{}, later), spec, later); !rest.Idle() {
		t.Errorf("without an answer the same is asked at once: %+v", rest)
	}
}
