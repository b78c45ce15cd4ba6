package workflows_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

// Failed runs in a row suspend the object, also where the API server is away at first, and
// it says why.
func TestCronJobPausesAfterFailures(t *testing.T) {
	for name, outage := range map[string]error{"at once": nil, "after an outage": errors.New("the API server does not answer")} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.refuseSuspend = outage
			k.ends = func(input protocol.JobInput) (job.Result, error) {
				return job.Result{UID: input.Job.UID, Outcome: job.Failed, Reason: "BackoffLimitExceeded"}, nil
			}
			k.after(3*time.Minute, func() { k.refuseSuspend = nil })
			spec := cron("* * * * *", allow)
			spec.PauseAfterFailures = 2
			k.runUntil(6*time.Minute, spec)
			expectList(t, "runs", k.scheduled(), "00:00", "01:00")
			last := k.suspends[len(k.suspends)-1]
			if !last.Suspend || !last.AfterFailures || last.Note.By != "pauseAfterFailures" {
				t.Errorf("asked for %+v", last)
			}
			condition := k.status.Conditions[1]
			if condition.Type != ostinatov1.ConditionSuspended || condition.Status != metav1.ConditionTrue || condition.Reason != "PausedAfterFailures" {
				t.Errorf("condition %+v", condition)
			}
		})
	}
}

// The API server may keep a status without the failures: a CRD that prunes the field, a policy, etcd put back. It is written
// once more; then the schedule goes on, and the object says why it is not suspended.
func TestCronJobGoesOnWhereItsStatusDoesNotSayThatItsRunsHaveFailed(t *testing.T) {
	for name, unwritable := range map[string]string{"the status is written": "", "it can't be written": "a webhook says no"} {
		t.Run(name, func(t *testing.T) {
			k := newCronJobKube(t)
			k.stayAwake = true
			k.ends = func(input protocol.JobInput) (job.Result, error) {
				return job.Result{UID: input.Job.UID, Outcome: job.Failed}, nil
			}
			k.answer = func(request cronJobRequest) (*cronJobResult, error) {
				if unwritable == "" || request.Start != nil || request.Status == nil {
					return nil, nil
				}
				k.events = append(k.events, request.Events...)
				return &cronJobResult{StatusFailed: unwritable}, nil
			}
			spec := cron("* * * * *", allow)
			spec.PauseAfterFailures = 2
			k.runUntil(6*time.Minute, spec)
			expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00", "03:00", "04:00", "05:00")
			told := 0
			for _, said := range k.events {
				if said.Reason == "FailedUpdate" && strings.Contains(said.Message, "its status does not say so") {
					told++
				}
			}
			if told != 3 || len(k.suspends) != 6 {
				t.Errorf("asked %d times and said %d times after six failures; events %v", len(k.suspends), told, k.reasons())
			}
		})
	}
}

// A status that is written once more may say so.
func TestCronJobPausesOnceItsStatusSaysThatItsRunsHaveFailed(t *testing.T) {
	k := newCronJobKube(t)
	k.stayAwake = true
	k.ends = func(input protocol.JobInput) (job.Result, error) {
		return job.Result{UID: input.Job.UID, Outcome: job.Failed}, nil
	}
	k.answer = func(request cronJobRequest) (*cronJobResult, error) {
		k.stayAwake = len(k.suspends) == 0 || request.Status == nil && k.stayAwake
		return nil, nil
	}
	spec := cron("* * * * *", allow)
	spec.PauseAfterFailures = 2
	k.runUntil(6*time.Minute, spec)
	expectList(t, "runs", k.scheduled(), "00:00", "01:00")
	if len(k.suspends) != 2 || !k.object.Suspend {
		t.Errorf("asked %d times, suspended %t", len(k.suspends), k.object.Suspend)
	}
}

// Where a policy keeps Ostinato from writing the CronJob, as where GitOps alone may, the schedule goes on, and the object says
// why it is not suspended.
func TestCronJobGoesOnWhereItsPauseIsRefused(t *testing.T) {
	k := newCronJobKube(t)
	k.refuseSuspend = temporal.NewNonRetryableApplicationError("only GitOps may edit CronJobs", "Refused", nil)
	k.ends = func(input protocol.JobInput) (job.Result, error) {
		return job.Result{UID: input.Job.UID, Outcome: job.Failed, Reason: "BackoffLimitExceeded"}, nil
	}
	spec := cron("* * * * *", allow)
	spec.PauseAfterFailures = 2
	k.runUntil(6*time.Minute, spec)
	expectList(t, "runs", k.scheduled(), "00:00", "01:00", "02:00", "03:00", "04:00", "05:00")
	told := 0
	for _, said := range k.events {
		if said.Reason == "FailedUpdate" && strings.Contains(said.Message, "only GitOps may edit CronJobs") {
			told++
		}
	}
	if told != 3 || len(k.suspends) != 3 {
		t.Errorf("asked %d times and said %d times after six failures; events %v", len(k.suspends), told, k.reasons())
	}
}
