package activities_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// calledStage has a CronJob hello, and a worker that believes the header of callers or not.
func calledStage(t *testing.T, believes bool) *stage {
	cronJob := helloCronJob()
	cronJob.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-create", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: ostinatov1.GroupVersion.String(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:schedule":{}}}`),
	}}
	return newStage(t, objects(helloJob()), []*ostinatov1.CronJob{cronJob}, func(options *activities.Options) { options.CallerHeader = believes })
}

// suspend is a suspend by signal whose header names a user.
func (s *stage) suspend(caller, by string, after time.Duration) *schedule.Suspender {
	s.t.Helper()
	return must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, protocol.SetSuspendRequest{
		Kind: protocol.CronJobKind, Object: cronJobRef, Basis: s.basis(),
		Wish: protocol.Wish{Suspend: true, At: scheduled.Add(after), Caller: caller, Note: protocol.SignalNote{By: by, Note: "upgrade"}},
	}).Suspender
}

// suspendedBy writes a status that says who has suspended, and returns the message of the condition that comes of it.
func (s *stage) suspendedBy(told schedule.Suspender) string {
	s.t.Helper()
	cronJob := s.cronJob()
	result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{
		CronJob: cronJobRef, Digest: schedule.SpecOf(cronJob).Digest(), Basis: s.basis(), Suspender: told,
		Status: &ostinatov1.CronJobStatus{ObservedGeneration: cronJob.Generation, Conditions: []metav1.Condition{{
			Type: ostinatov1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: "Suspended", LastTransitionTime: metav1.NewTime(scheduled),
		}}},
	})
	assert.Empty(s.t, result.StatusFailed)
	return meta.FindStatusCondition(s.cronJob().Status.Conditions, ostinatov1.ConditionSuspended).Message
}

// patch writes to the CronJob as a person does who may.
func (s *stage) patch(manager, patch string) {
	s.t.Helper()
	_, err := s.cronJobs.CronJobs(namespace).Patch(s.t.Context(), "hello", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	assert.NoError(s.t, err)
}

func TestASuspensionNamesTheCallerThatIsBelieved(t *testing.T) {
	const at = " at 2026-01-02T03:04:00Z through signal: upgrade"
	for name, test := range map[string]struct {
		believes                     bool
		caller, by                   string
		condition, annotation, event string
	}{
		"a user":                           {true, "ada", "", "by ada" + at, "ada", " from ada"},
		"a user who claims another's name": {true, "ada", "bob", "by ada (claims to be bob)" + at, "bob", " from ada (claims to be bob)"},
		"a user who claims his own":        {true, "ada", "ada", "by ada" + at, "ada", " from ada"},
		"a program":                        {true, "", "", at[1:], "", ""},
		"a program that claims a name":     {true, "", "bob", "by bob (claimed)" + at, "bob", " from bob (claimed)"},
		"a header that is not believed":    {false, "ada", "", at[1:], "", ""},
		"a claim beside one":               {false, "ada", "bob", "by bob (claimed)" + at, "bob", " from bob (claimed)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := calledStage(t, test.believes)
			told := s.suspend(test.caller, test.by, 0)
			assert.Equal(t, test.condition, s.suspendedBy(*told))
			assert.Equal(t, test.annotation, s.cronJob().Annotations[names.SuspendedByAnnotation])
			assert.Contains(t, s.recorded(), "Normal SignalTaken Signal suspend was taken"+test.event+": upgrade")
			assert.Equal(t, told, s.suspend(test.caller, test.by, 0), "an attempt whose answer was lost is repeated")
			// A wish in vain leaves the name.
			if again := s.suspend("eve", "eve", time.Second); again != nil {
				t.Errorf("who has suspended what was suspended already: %+v", again)
			}
		})
	}
}

// Two people may claim one name. The attempt of the second that is repeated, since its answer was lost, finds the suspension of the first.
func TestASuspendInVainNamesNoUser(t *testing.T) {
	s := calledStage(t, true)
	told := s.suspend("ada", "oncall", 0)
	assert.Nil(t, s.suspend("bob", "oncall", time.Second))
	assert.Nil(t, s.suspend("bob", "oncall", time.Second), "an attempt whose answer was lost is repeated")
	assert.Equal(t, "by ada (claims to be oncall) at 2026-01-02T03:04:00Z through signal: upgrade", s.suspendedBy(*told))
}

// A restore of etcd may bring back the suspension of another user than the workflow knows.
func TestNoUserIsNamedForTheSuspensionOfAnother(t *testing.T) {
	s := calledStage(t, true)
	s.suspend("ada", "oncall", 0)
	bob := schedule.Suspender{By: "oncall", User: "bob", At: scheduled.Add(time.Minute), Why: "upgrade"}
	assert.Equal(t, "by oncall (claimed) at 2026-01-02T03:04:00Z through signal: upgrade", s.suspendedBy(bob))
}

// The clock of the worker may be behind Temporal's, by which the signal is of a time that has not come.
func TestASuspensionOfATimeToComeNamesItsUser(t *testing.T) {
	s := calledStage(t, true)
	told := s.suspend("ada", "", time.Since(scheduled)+time.Hour)
	assert.Regexp(t, `^by ada at \S+ through signal: upgrade$`, s.suspendedBy(*told))

	s = calledStage(t, true)
	ahead := time.Since(scheduled) + time.Second
	assert.Equal(t, s.suspend("ada", "", ahead), s.suspend("ada", "", ahead), "an attempt whose answer was lost is repeated")
}

// Neither a person who may patch CronJobs nor a writer to a Temporal that knows no callers can name a user as the suspender.
func TestNobodyElseNamesTheUserWhoHasSuspended(t *testing.T) {
	ada := schedule.Suspender{User: "ada", At: scheduled, Why: "upgrade"}
	suspendedAs := func(manager string) func(*stage) {
		return func(s *stage) {
			s.patch(manager, `{"metadata":{"annotations":{"`+names.SuspendUserAnnotation+`":"ada","`+names.SuspendedByAnnotation+`":"ada",
				"`+names.SuspendNoteAnnotation+`":"I quit","`+names.SuspendedAtAnnotation+`":"2026-01-02T03:04:00Z"}},"spec":{"suspend":true}}`)
		}
	}
	for name, test := range map[string]struct {
		believes bool
		told     schedule.Suspender
		forge    func(*stage)
		want     string
	}{
		"annotations":                        {true, schedule.Suspender{}, suspendedAs("kubectl-patch"), `^at \S+ through kubectl-patch$`},
		"annotations as the worker's":        {true, schedule.Suspender{}, suspendedAs("ostinato-cronjob-controller"), `^by ada \(claimed\) at \S+ through signal: I quit$`},
		"a request to a worker that doubts":  {false, ada, suspendedAs("ostinato-cronjob-controller"), `^by ada \(claimed\) at \S+ through signal: I quit$`},
		"a reason of a user that is known":   {true, ada, suspendedAs("ostinato-cronjob-controller"), `^by ada at \S+ through signal: upgrade$`},
		"a later suspend by another":         {true, ada, suspendedAs("kubectl-patch"), `^at \S+ through kubectl-patch$`},
		"a later suspend through a command":  {true, ada, suspendedAs("ostinato-command"), `^by ada \(claimed\) at \S+ through ostinato: I quit$`},
		"a request that claims a name alone": {true, schedule.Suspender{By: "ada"}, suspendedAs("kubectl-patch"), `^at \S+ through kubectl-patch$`},
	} {
		t.Run(name, func(t *testing.T) {
			s := calledStage(t, test.believes)
			test.forge(s)
			assert.Regexp(t, test.want, s.suspendedBy(test.told))
		})
	}
}

func TestAStartNamesTheCallerThatIsBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		believes bool
		start    ledger.Asked
		caller   string
		want     ledger.Asked
		answers  string
	}{
		"a signal's":                             {true, ledger.Asked{By: "bob", Through: "signal"}, "ada", ledger.Asked{By: "bob", User: "ada", Through: "signal"}, "ada"},
		"none":                                   {true, ledger.Asked{Through: "signal"}, "", ledger.Asked{Through: "signal"}, ""},
		"one that was believed before":           {true, ledger.Asked{User: "ada", Through: "update"}, "", ledger.Asked{User: "ada", Through: "update"}, ""},
		"a header that is not believed":          {false, ledger.Asked{By: "bob", Through: "signal"}, "ada", ledger.Asked{By: "bob", Through: "signal"}, ""},
		"a user that a state without a door has": {false, ledger.Asked{User: "ada", Through: "update"}, "", ledger.Asked{By: "ada", Through: "update"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := calledStage(t, test.believes)
			trigger := schedule.Start{
				Name: names.TriggeredJob("hello", cronJobRef.UID, 1), Scheduled: scheduled, Manual: true, Sequence: 1, Asked: test.start, Caller: test.caller,
			}
			result := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{
				CronJob: cronJobRef, Start: trigger, Status: &ostinatov1.CronJobStatus{},
			})
			assert.NotNil(t, result.Started)
			assert.Equal(t, test.answers, result.User)
			row := s.cronJob().Status.RecentRuns[0]
			assert.Equal(t, test.want, ledger.Asked{By: row.By, User: row.User, Through: row.Through})
		})
	}
}

func TestALookSaysWhetherCallersAreBelieved(t *testing.T) {
	for _, believes := range []bool{true, false} {
		for _, backfill := range []bool{true, false} {
			result := must[protocol.FindRunsResult](calledStage(t, believes), protocol.FindRunsActivity, protocol.FindRunsRequest{
				CronJob: cronJobRef, Backfill: backfill,
			})
			assert.Equal(t, believes, result.CallerHeader)
		}
	}
}

func TestTheSuspendOfAJobIsAnsweredWithTheCallersName(t *testing.T) {
	for believes, want := range map[bool]string{true: " from ada", false: ""} {
		s := calledStage(t, believes)
		must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, protocol.SetSuspendRequest{
			Kind: protocol.JobKind, Object: jobRef, Wish: protocol.Wish{Suspend: true, At: scheduled, Caller: "ada"},
		})
		assert.Equal(t, []string{"Normal SignalTaken Signal suspend was taken" + want}, s.recorded())
	}
}

// Of a CronJob that a worker remembers while a run is under way it has no managed fields: for another suspension than the one of that
// time it reads the object. A request's own words count for nothing.
func TestARequestsOwnWordsNameNoSuspender(t *testing.T) {
	s := calledStage(t, false)
	s.suspend("", "ada", 0)
	write := func(since time.Time, message string) string {
		must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, protocol.WriteStatusRequest{
			CronJob: cronJobRef, Digest: schedule.SpecOf(s.cronJob()).Digest(), Basis: s.basis(),
			Status: &ostinatov1.CronJobStatus{
				Active: []corev1.ObjectReference{{Kind: "Job", APIVersion: "batch/v1", Namespace: namespace, Name: jobName, UID: jobUID}},
				Conditions: []metav1.Condition{{
					Type: ostinatov1.ConditionSuspended, Status: metav1.ConditionTrue, Reason: "Suspended", Message: message,
					LastTransitionTime: metav1.NewTime(since),
				}},
			},
		})
		return meta.FindStatusCondition(s.cronJob().Status.Conditions, ostinatov1.ConditionSuspended).Message
	}
	byAda := "by ada (claimed) at 2026-01-02T03:04:00Z through signal: upgrade"
	assert.Equal(t, byAda, write(scheduled, ""))
	assert.Equal(t, byAda, write(scheduled.Add(time.Second), "by root at 2026-01-02T03:04:00Z through signal"))
}
