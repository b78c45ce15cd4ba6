package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

func suspendedStatus(since time.Time, reason, message string) ostinatov1.CronJobStatus {
	return ostinatov1.CronJobStatus{Conditions: []metav1.Condition{
		{Type: ostinatov1.ConditionScheduleValid, Status: metav1.ConditionTrue},
		{Type: ostinatov1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(since)},
	}}
}

func TestTheConditionSaysWhoHasSuspended(t *testing.T) {
	ada := schedule.Suspender{By: "ada", At: at("10:00"), Through: ledger.ThroughSignal, Why: "maintenance"}
	later := ada
	later.At = at("11:00")
	kubectl := schedule.Suspender{At: at("10:00"), Through: "kubectl-edit"}
	failures := schedule.Suspender{By: "pauseAfterFailures", At: at("10:00"), Through: ledger.ThroughSignal, Why: "2 runs in a row have failed"}
	kubectlLater := kubectl
	kubectlLater.At = at("11:00")
	suspended := suspendedStatus(at("10:01"), "Suspended", "")
	long := strings.Repeat("x", 10_000)
	for name, test := range map[string]struct {
		status, read ostinatov1.CronJobStatus
		who          schedule.Suspender
		want         string
	}{
		"a person by a signal":    {suspended, ostinatov1.CronJobStatus{}, ada, "by ada (claimed) at 2016-05-19T10:00:00Z through signal: maintenance"},
		"a signal without a word": {suspended, ostinatov1.CronJobStatus{}, schedule.Suspender{At: at("10:00"), Through: ledger.ThroughSignal}, "at 2016-05-19T10:00:00Z through signal"},
		"a user that is known":    {suspended, ostinatov1.CronJobStatus{}, schedule.Suspender{User: "ada@example.com", At: at("10:00"), Through: "kubectl-edit"}, "by ada@example.com at 2016-05-19T10:00:00Z through kubectl-edit"},
		"a user who claims another name": {
			suspended, ostinatov1.CronJobStatus{}, schedule.Suspender{User: "bob@example.com", By: "ada", At: at("10:00"), Through: "ostinato"},
			"by bob@example.com (claims to be ada) at 2016-05-19T10:00:00Z through ostinato",
		},
		"a user of the name that he claims": {suspended, ostinatov1.CronJobStatus{}, schedule.Suspender{User: "ada", By: "ada", Through: "ostinato"}, "by ada through ostinato"},
		"long names beside each other": {
			suspended, ostinatov1.CronJobStatus{}, schedule.Suspender{User: long, By: "y" + long, Through: long, Why: long},
			"by " + long[:253] + "... (claims to be y" + long[:60] + "...) through " + long[:253] + "...: " + long[:253] + "...",
		},
		"kubectl":                {suspended, ostinatov1.CronJobStatus{}, kubectl, "at 2016-05-19T10:00:00Z through kubectl-edit"},
		"nothing tells":          {suspended, ostinatov1.CronJobStatus{}, schedule.Suspender{}, ""},
		"nothing tells any more": {suspended, suspendedStatus(at("10:01"), "Suspended", "as before"), schedule.Suspender{}, "as before"},
		"nothing names another":  {suspended, suspendedStatus(at("09:01"), "Suspended", "of another"), schedule.Suspender{}, ""},
		"its manager has written something else since": {
			suspended, suspendedStatus(at("10:01"), "Suspended", kubectl.String()), kubectlLater, kubectl.String(),
		},
		"the same by a later signal": {suspended, suspendedStatus(at("10:01"), "Suspended", ada.String()), later, later.String()},
		"a user who has claimed the same for an earlier suspension": {
			suspended, suspendedStatus(at("10:01"), "Suspended", "by eve (claims to be ada) at 2016-05-19T10:00:00Z through signal: maintenance"), later, later.String(),
		},
		"a user of the same name who has suspended it before": {
			suspended, suspendedStatus(at("10:01"), "Suspended", "by ada at 2016-05-19T10:00:00Z through signal: maintenance"), later, later.String(),
		},
		"a user of whom a new workflow knows no more": {
			suspended, suspendedStatus(at("10:01"), "Suspended", "by ada at 2016-05-19T10:00:00Z through signal: maintenance"), ada,
			"by ada at 2016-05-19T10:00:00Z through signal: maintenance",
		},
		"a user of whom a new workflow knows the claim alone": {
			suspended, suspendedStatus(at("10:01"), "Suspended", "by eve (claims to be ada) at 2016-05-19T10:00:00Z through signal: maintenance"), ada,
			"by eve (claims to be ada) at 2016-05-19T10:00:00Z through signal: maintenance",
		},
		"a user who has claimed another name than the object has": {
			suspended, suspendedStatus(at("10:01"), "Suspended", "by eve (claims to be bob) at 2016-05-19T10:00:00Z through signal: maintenance"), ada, ada.String(),
		},
		"a user whom a restored status names": {
			suspended, suspendedStatus(at("09:01"), "Suspended", "by eve (claims to be ada) at 2016-05-19T10:00:00Z through signal: maintenance"), ada,
			"by eve (claims to be ada) at 2016-05-19T10:00:00Z through signal: maintenance",
		},
		"a user beside one who is known": {
			suspended, suspendedStatus(at("10:01"), "Suspended", "by eve (claims to be ada) at 2016-05-19T10:00:00Z through signal: maintenance"),
			schedule.Suspender{By: "ada", User: "bob", Through: ledger.ThroughSignal, Why: "maintenance"}, "by bob (claims to be ada) through signal: maintenance",
		},
		"a user whose reason another has changed": {
			suspended, suspendedStatus(at("10:01"), "Suspended", "by ada at 2016-05-19T10:00:00Z through signal: an upgrade"), ada, ada.String(),
		},
		"a user of an earlier suspension": {
			suspended, suspendedStatus(at("09:01"), "Suspended", "by ada at 2016-05-19T09:00:00Z through signal: maintenance"), ada, ada.String(),
		},
		"somebody else": {suspended, suspendedStatus(at("10:01"), "Suspended", ada.String()), kubectl, kubectl.String()},
		"the same, another time": {
			suspended, suspendedStatus(at("09:01"), "Suspended", ada.String()), later, later.String(),
		},
		"failures": {
			suspendedStatus(at("10:01"), "PausedAfterFailures", "2 runs in a row have failed"), ostinatov1.CronJobStatus{}, failures,
			"at 2016-05-19T10:00:00Z through pauseAfterFailures: 2 runs in a row have failed",
		},
		"failures that the object does not tell of":  {suspendedStatus(at("10:01"), "PausedAfterFailures", "by root"), ostinatov1.CronJobStatus{}, ada, ada.String()},
		"failures of which nothing tells":            {suspendedStatus(at("10:01"), "PausedAfterFailures", "by root"), ostinatov1.CronJobStatus{}, schedule.Suspender{}, ""},
		"failures that a person claims to have been": {suspended, ostinatov1.CronJobStatus{}, failures, failures.String()},
		"long claims": {
			suspended, ostinatov1.CronJobStatus{}, schedule.Suspender{By: long, Through: long, Why: long},
			"by " + long[:253] + "... (claimed) through " + long[:253] + "...: " + long[:253] + "...",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := schedule.StatusSuspendedBy(test.status, test.read, test.who)
			assert.Equal(t, test.want, got.Conditions[1].Message)
			assert.Less(t, len(test.want), schedule.MaxStatusText)
			assert.Equal(t, got, schedule.StatusSuspendedBy(got, got, test.who), "not idempotent")
		})
	}
	resumed := suspendedStatus(at("10:01"), "NotSuspended", "")
	resumed.Conditions[1].Status = metav1.ConditionFalse
	assert.Equal(t, resumed, schedule.StatusSuspendedBy(resumed, suspended, ada), "who is not suspended")
	assert.Empty(t, schedule.StatusSuspendedBy(ostinatov1.CronJobStatus{}, suspended, ada).Conditions)
	assert.Empty(t, suspended.Conditions[1].Message, "its argument was changed")
}

func TestAResumeTakesBackWhatItNames(t *testing.T) {
	ada := schedule.Suspender{By: "ada", At: at("10:00"), Through: ledger.ThroughSignal, Why: "upgrade"}
	for name, test := range map[string]struct {
		who        schedule.Suspender
		by, reason string
		want       string
	}{
		"all, where nothing is named":    {who: ada},
		"that of the name":               {who: ada, by: "ada"},
		"that of the reason":             {who: ada, reason: "upgrade"},
		"that of both":                   {who: ada, by: "ada", reason: "upgrade"},
		"that of a user who is known":    {who: schedule.Suspender{User: "ada", Through: "kubectl-edit"}, by: "ada"},
		"not that of another name":       {ada, "bob", "", `not suspended by bob, but by ada (claimed) at 2016-05-19T10:00:00Z through signal: upgrade: send {"force": true} to resume it all the same`},
		"not that of another reason":     {ada, "ada", "fire", `not suspended by ada for the reason "fire", but by ada`},
		"not that of nobody":             {schedule.Suspender{}, "ada", "", "but by a writer that the object does not name"},
		"not that of kubectl":            {schedule.Suspender{Through: "kubectl-edit"}, "", "upgrade", "but through kubectl-edit"},
		"not that of a name of any size": {ada, strings.Repeat("x", 9000), "", "not suspended by " + strings.Repeat("x", 253) + "..., but"},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.who.Refuses(test.by, test.reason)
			assert.Equal(t, test.want == "", got == "")
			assert.Contains(t, got, test.want)
			assert.Less(t, len(got), 1800)
		})
	}
}

// TestWhyFailuresHaveSuspendedIsReadFromTheStatus: no more of it with each start from the object.
func TestWhyFailuresHaveSuspendedIsReadFromTheStatus(t *testing.T) {
	const why = "1 runs in a row have failed, the last of them hello-24394200 (); set spec.suspend to false to go on"
	c := newCluster(t, cronSpec("0 * * * *", pauseAfter(1)), at("09:15")).at(at("09:30")).runs(jobFailed)
	for range 3 {
		c.status = schedule.StatusSuspendedBy(c.status, ostinatov1.CronJobStatus{}, schedule.Suspender{By: "pauseAfterFailures", Through: ledger.ThroughSignal, Why: why})
		c = restored(t, c.spec, at("09:15"), c.status, c.ended).at(at("11:00"))
	}
	assert.Equal(t, "True PausedAfterFailures "+why, c.told(ostinatov1.ConditionSuspended))
}

// Who has suspended by signal counts while the suspension lasts, and where the object says that a signal's does.
func TestTheSuspenderIsForgottenWithTheSuspension(t *testing.T) {
	ada := schedule.Suspender{User: "ada", At: at("09:20"), Why: strings.Repeat("x", 9000)}
	c := newCluster(t, cronSpec("0 * * * *"), at("09:15"))
	assert.Empty(t, schedule.SuspendedBy(c.state, ada).Suspension.Suspender, "nothing is suspended")
	suspended := c.spec
	suspended.Suspend = true
	state := schedule.SuspendedBy(schedule.SpecChanged(c.state, c.spec, suspended, at("09:20")), ada)
	assert.Equal(t, "ada", state.Suspension.Suspender.User)
	assert.Len(t, state.Suspension.Suspender.Why, 256)
	state = schedule.Decide(state, suspended, at("09:21")).Next
	assert.Equal(t, "ada", state.Suspension.Suspender.User)
	state = schedule.Decide(schedule.SpecChanged(state, suspended, c.spec, at("09:22")), c.spec, at("09:22")).Next
	state = schedule.Decide(schedule.SpecChanged(state, c.spec, suspended, at("09:23")), suspended, at("09:23")).Next
	assert.Empty(t, state.Suspension.Suspender)

	signal := schedule.Suspender{By: "bob", At: at("09:20"), Through: ledger.ThroughSignal}
	assert.Equal(t, signal, signal.Known(schedule.Suspender{By: "eve"}))
	assert.Equal(t, schedule.Suspender{User: "ada", At: at("09:20"), Through: ledger.ThroughSignal}, signal.Known(schedule.Suspender{User: "ada", At: at("09:20")}))
	assert.Equal(t, signal, signal.Known(schedule.Suspender{User: "ada", At: at("09:10")}), "of another suspension")
	kubectl := schedule.Suspender{Through: "kubectl-edit"}
	assert.Equal(t, kubectl, kubectl.Known(ada))
}

// The workflow has not heard of the resume between the two.
func TestASignalSuspendsWhatFailuresHadSuspended(t *testing.T) {
	c := newCluster(t, cronSpec("0 * * * *", pauseAfter(1)), at("09:15")).at(at("09:30")).runs(jobFailed).at(at("11:00"))
	assert.Contains(t, c.told(ostinatov1.ConditionSuspended), "PausedAfterFailures")
	again := c.spec
	again.Generation += 2
	state := schedule.SuspendedBy(schedule.SpecChanged(c.state, c.spec, again, at("11:01")), schedule.Suspender{User: "ada", At: at("11:01")})
	conditions := schedule.Decide(state, again, at("11:01")).Next.Conditions
	assert.Equal(t, "Suspended", meta.FindStatusCondition(conditions, ostinatov1.ConditionSuspended).Reason)
}
