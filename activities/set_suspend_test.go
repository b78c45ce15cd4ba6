package activities_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

func TestSetSuspend(t *testing.T) {
	request := protocol.SetSuspendRequest{
		Kind: "CronJob", Object: cronJobRef, Wish: protocol.Wish{Suspend: true, At: scheduled, Note: protocol.SignalNote{Note: `maintenance "window"`, By: "alice"}},
	}
	s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
	if result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); result.CronJobSpec == nil || !result.CronJobSpec.Suspend || result.Gone {
		t.Errorf("result %+v", result)
	}
	stored := s.cronJob()
	if stored.Spec.Suspend == nil || !*stored.Spec.Suspend || stored.Annotations[names.SuspendedByAnnotation] != "alice" ||
		stored.Annotations[names.SuspendNoteAnnotation] != `maintenance "window"` || stored.Annotations[names.SuspendedAtAnnotation] != "2026-01-02T03:04:00Z" {
		t.Errorf("suspend %v, annotations %v", stored.Spec.Suspend, stored.Annotations)
	}
	request.Suspend, request.Note, request.At = false, protocol.SignalNote{}, scheduled.Add(time.Nanosecond)
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
	stored = s.cronJob()
	if _, note := stored.Annotations[names.SuspendNoteAnnotation]; note || *stored.Spec.Suspend {
		t.Errorf("suspend %v, annotations %v", *stored.Spec.Suspend, stored.Annotations)
	}
	request.Kind, request.Object, request.Suspend = "Job", jobRef, true
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
	if suspended := s.job(jobName).Spec.Suspend; suspended == nil || !*suspended {
		t.Error("the Job is not suspended")
	}
}

// A CronJob is suspended after failures where it asks for that and its status has so many,
// whatever a request says, and whether it takes signals or not.
func TestSuspendAfterFailures(t *testing.T) {
	for name, test := range map[string]struct {
		after    *int32
		failures int32
		suspend  bool
		want     bool
	}{
		"asked for, as many": {after: ptr.To[int32](2), failures: 2, suspend: true, want: true},
		"asked for, fewer":   {after: ptr.To[int32](2), failures: 1, suspend: true},
		"not asked for":      {failures: 100, suspend: true},
		"to resume":          {after: ptr.To[int32](2), failures: 2},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := helloCronJob()
			cronJob.Annotations = map[string]string{names.AcceptSignalsAnnotation: "none"}
			cronJob.Spec.PauseAfterFailures, cronJob.Status.ConsecutiveFailures = test.after, test.failures
			cronJob.Spec.Suspend = ptr.To(!test.suspend)
			s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
			request := protocol.SetSuspendRequest{Kind: "CronJob", Object: cronJobRef, AfterFailures: true, Wish: protocol.Wish{Suspend: test.suspend, At: scheduled}}
			result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
			if got := *s.cronJob().Spec.Suspend; got != (test.want || !test.suspend) || result.CronJobSpec == nil || result.CronJobSpec.Suspend != got {
				t.Errorf("suspended %t, result %+v", got, result)
			}
		})
	}
}

// An attempt that was given up may go on for a while, and must not have the last word. One that is repeated
// because its answer was lost leaves alone what others made of the object since.
func TestWhatWasHeardLastHasTheLastWord(t *testing.T) {
	for name, test := range map[string]struct {
		ago  time.Duration
		want bool
	}{
		"heard before":                          {ago: 3 * time.Millisecond},
		"carried out before":                    {ago: 0},
		"heard later":                           {ago: -time.Millisecond, want: true},
		"a clock was set back by more than one": {ago: 2 * time.Minute, want: true},
	} {
		for _, kind := range []string{protocol.CronJobKind, protocol.JobKind} {
			t.Run(name+", "+kind, func(t *testing.T) {
				s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
				request := protocol.SetSuspendRequest{Kind: kind, Object: cronJobRef, Wish: protocol.Wish{At: scheduled}}
				suspended := func() bool { return ptr.Deref(s.cronJob().Spec.Suspend, false) }
				if kind == protocol.JobKind {
					request.Object = jobRef
					suspended = func() bool { return ptr.Deref(s.job(jobName).Spec.Suspend, false) }
				}
				must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
				events := len(s.recorded())
				request.Suspend, request.At = true, scheduled.Add(-test.ago)
				result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
				told := result.CronJobSpec != nil && result.CronJobSpec.Suspend || result.JobSpec != nil && result.JobSpec.Suspend
				if suspended() != test.want || told != test.want || result.CronJobSpec == nil && result.JobSpec == nil {
					t.Errorf("suspended %t, result %+v", suspended(), result)
				}
				if more := len(s.recorded()) > 0; more != test.want {
					t.Errorf("%d Events and another: %t", events, more)
				}
			})
		}
	}
}

// Somebody who may write to Temporal can't keep others from being heard.
func TestAWishFromTheFutureKeepsNobodyFromBeingHeard(t *testing.T) {
	now := scheduled.Add(time.Second)
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()}, withClock(clocktesting.NewFakeClock(now)))
	forged := protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: cronJobRef, Wish: protocol.Wish{Suspend: true, At: now.Add(50 * time.Second)}}
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, forged)
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: cronJobRef, Wish: protocol.Wish{At: now.Add(time.Millisecond)}})
	if stored := s.cronJob(); ptr.Deref(stored.Spec.Suspend, false) {
		t.Errorf("not resumed: %v", stored.Annotations)
	}
}

// Both may read the object before either writes: the second write is refused, and looks again.
func TestAWishThatIsOvertakenBetweenReadAndWrite(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	writes := 0
	s.cronJobs.PrependReactor("patch", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		writes++
		return true, nil, apierrors.NewConflict(ostinatov1.GroupVersion.WithResource("cronjobs").GroupResource(), "hello", errors.New("modified"))
	})
	s.cronJobs.PrependReactor("get", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		if writes == 0 {
			return false, nil, nil
		}
		resumed := helloCronJob()
		resumed.Annotations = map[string]string{names.SuspendHeardAtAnnotation: scheduled.Add(time.Millisecond).Format(time.RFC3339Nano)}
		return true, resumed, nil
	})
	request := protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: cronJobRef, Wish: protocol.Wish{Suspend: true, At: scheduled}}
	result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
	if writes != 1 || result.CronJobSpec == nil || result.CronJobSpec.Suspend {
		t.Errorf("%d writes, result %+v", writes, result)
	}
}

func TestSetSuspendOfAGoneObject(t *testing.T) {
	request := protocol.SetSuspendRequest{Kind: "CronJob", Object: cronJobRef, Wish: protocol.Wish{Suspend: true, At: scheduled}}
	if result := must[protocol.SetSuspendResult](newStage(t, nil, nil), protocol.SetSuspendActivity, request); !result.Gone {
		t.Errorf("absent: %+v", result)
	}
	recreated := helloCronJob()
	recreated.UID = "new-uid"
	s := newStage(t, nil, []*ostinatov1.CronJob{recreated})
	s.cronJobs.PrependReactor("patch", "cronjobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInvalid(ostinatov1.CronJobKind.GroupKind(), "hello", nil)
	})
	if result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); !result.Gone {
		t.Errorf("re-created: %+v", result)
	}
}

// TestSetSuspendOfWhatIsNotOurs: the Job of kube-controller-manager is not ours to
// suspend, and what has no UID is nobody's.
func TestSetSuspendOfWhatIsNotOurs(t *testing.T) {
	builtIn, another := helloJob(), helloJob()
	builtIn.Spec.ManagedBy, another.Spec.ManagedBy = nil, ptr.To("example.com/controller")
	for name, owner := range map[string]*batchv1.Job{"the built-in controller's": builtIn, "another controller's": another} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(owner), nil)
			request := protocol.SetSuspendRequest{Kind: protocol.JobKind, Object: jobRef, Wish: protocol.Wish{Suspend: true, At: scheduled}}
			if result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); !result.Foreign || result.JobSpec != nil || len(s.writes()) != 0 {
				t.Errorf("result %+v, writes %v", result, s.writes())
			}
		})
	}
	t.Run("the built-in controller's, where Jobs are taken over", func(t *testing.T) {
		s := newStage(t, objects(builtIn), nil, takingOver)
		request := protocol.SetSuspendRequest{Kind: protocol.JobKind, Object: jobRef, Wish: protocol.Wish{Suspend: true, At: scheduled}}
		if result := must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); result.JobSpec == nil || !result.JobSpec.Suspend {
			t.Errorf("result %+v", result)
		}
	})
	for name, request := range map[string]protocol.SetSuspendRequest{
		"a Job without a UID":     {Kind: protocol.JobKind, Object: protocol.ObjectReference{Namespace: namespace, Name: jobName}, Wish: protocol.Wish{Suspend: true}},
		"a CronJob without a UID": {Kind: protocol.CronJobKind, Object: protocol.ObjectReference{Namespace: namespace, Name: "hello"}, Wish: protocol.Wish{Suspend: true}},
		"another kind":            {Kind: "Deployment", Object: jobRef, Wish: protocol.Wish{Suspend: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob()), []*ostinatov1.CronJob{helloCronJob()})
			_, err := run[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request)
			var application *temporal.ApplicationError
			if !errors.As(err, &application) || !application.NonRetryable() || application.Type() != protocol.InvalidRequestErrorType {
				t.Errorf("error %v", err)
			}
			if writes := s.writes(); len(writes) != 0 {
				t.Errorf("writes %v", writes)
			}
		})
	}
}
