package activities_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// stopping is the request of a signal stop.
var stopping = protocol.SetSuspendRequest{
	Kind: protocol.JobKind, Object: jobRef, Wish: protocol.Wish{Stop: true, At: scheduled, Note: protocol.SignalNote{By: "ada", Note: "it hangs"}},
}

// stoppedAs returns the Job with this annotation.
func stoppedAs(value string) *batchv1.Job {
	owner := helloJob()
	owner.Annotations = map[string]string{names.StopAnnotation: value}
	return owner
}

// A signal is written to the Job where worker and Job name it, and ends no Pod by itself.
func TestAStopBySignalIsWrittenToTheJob(t *testing.T) {
	byDefault := func(options *activities.Options) { options.AcceptSignals = steering.Default() }
	byAda, byBob := job.Stop{By: "ada", Note: "it hangs"}.Annotation(), job.Stop{By: "bob"}.Annotation()
	ended := helloJob()
	ended.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobComplete, batchv1.JobReasonCompletionsReached)}
	narrowed := helloJob()
	narrowed.Annotations = map[string]string{names.AcceptSignalsAnnotation: "suspend,resume"}
	named := helloJob()
	named.Annotations = map[string]string{names.AcceptSignalsAnnotation: "stop"}
	foreign := helloJob()
	foreign.Spec.ManagedBy = nil
	for name, test := range map[string]struct {
		owner *batchv1.Job
		with  []option
		// want is the annotation afterwards, event how the Event begins, empty for none.
		want, event string
		writes      int
		refused     bool
	}{
		"of a Job that runs":               {owner: helloJob(), want: byAda, event: "Normal SignalTaken Signal stop was taken from ada (claimed): it hangs", writes: 1},
		"of a Job that names it":           {owner: named, want: byAda, event: "Normal SignalTaken", writes: 1},
		"again, after a lost answer":       {owner: stoppedAs(byAda), want: byAda},
		"of a Job that another has ended":  {owner: stoppedAs(byBob), want: byBob, event: "Normal SignalTaken Signal stop, of an object that is stopped already, was taken"},
		"of a Job that has ended":          {owner: ended, event: "Warning SignalRefused Signal stop was not carried out: the Job has ended"},
		"that the worker does not name":    {owner: helloJob(), with: []option{byDefault}, event: "Warning SignalRefused the worker does not accept stop", refused: true},
		"that the Job alone names":         {owner: named, with: []option{byDefault}, event: "Warning SignalRefused the worker does not accept stop", refused: true},
		"that the Job does not name":       {owner: narrowed, event: "Warning SignalRefused the object does not accept stop", refused: true},
		"of a Job of another controller's": {owner: foreign},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{test.owner.DeepCopy(), helloPod("a", corev1.PodRunning).Pod}, nil, test.with...)
			result, err := run[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, stopping)
			if (err != nil) != test.refused {
				t.Fatalf("error %v", err)
			}
			stored := s.job(jobName)
			if got := stored.Annotations[names.StopAnnotation]; got != test.want || len(s.writes()) != test.writes || !s.exists("a") {
				t.Errorf("annotation %q, want %q; writes %v", got, test.want, s.writes())
			}
			if told := result.JobSpec != nil && result.JobSpec.Stop != nil; told != (test.want != "") {
				t.Errorf("the answer is %+v", result.JobSpec)
			}
			if recorded := s.recorded(); len(recorded) > 1 || !strings.HasPrefix(strings.Join(recorded, "; "), test.event) || test.event == "" && len(recorded) > 0 {
				t.Errorf("Events %q, want %q", recorded, test.event)
			}
		})
	}
}

// A Job that changes between read and write is read again.
func TestAStopIsWrittenToTheJobAsItIs(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil)
	s.refuse("patch", "jobs", 2, apierrors.NewConflict(batchv1.Resource("jobs"), jobName, errors.New("modified")))
	must[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, stopping)
	if s.job(jobName).Annotations[names.StopAnnotation] == "" {
		t.Error("the Job is not stopped")
	}
}

func TestAStopOfWhatIsNoJobIsRefused(t *testing.T) {
	for name, change := range map[string]func(*protocol.SetSuspendRequest){
		"of a CronJob": func(request *protocol.SetSuspendRequest) {
			request.Kind, request.Object = protocol.CronJobKind, cronJobRef
		},
		"that suspends, too":   func(request *protocol.SetSuspendRequest) { request.Suspend = true },
		"after failures, none": func(request *protocol.SetSuspendRequest) { request.AfterFailures = true },
	} {
		s := newStage(t, []runtime.Object{helloJob()}, []*ostinatov1.CronJob{helloCronJob()})
		request := stopping
		change(&request)
		if _, err := run[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, request); err == nil || !strings.Contains(err.Error(), "a stop is of a Job") || len(s.writes()) > 0 {
			t.Errorf("%s: error %v, writes %v", name, err, s.writes())
		}
	}
}

// The Pods of a Job end for a stop because the Job says so: a writer of Temporal may ask for what he likes, in anyone's
// name.
func TestPodsEndForTheStopOfTheirOwnJob(t *testing.T) {
	ours := job.Stop{By: "ada", Note: "it hangs"}
	verdict := func(message string) job.Verdict {
		return job.Verdict{Interim: batchv1.JobFailureTarget, Reason: "Stopped", Message: message}
	}
	for name, test := range map[string]struct {
		owner   *batchv1.Job
		message string
		ends    bool
	}{
		"which says so":           {stoppedAs(ours.Annotation()), ours.String(), true},
		"which does not":          {helloJob(), ours.String(), false},
		"which says so, of ada":   {stoppedAs(ours.Annotation()), job.Stop{By: "bob"}.String(), false},
		"whose Pod template does": {ofTemplate(ours.Annotation()), ours.String(), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := asMade(t, test.owner, helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodSucceeded))
			list := must[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{
				Job: jobRef, Termination: job.TerminateForVerdict, Verdict: verdict(test.message), Status: &batchv1.JobStatus{},
			})
			if (list.Refuted == nil) != test.ends || s.pod("b").DeletionTimestamp != nil {
				t.Errorf("refuted %+v", list.Refuted)
			}
			// As of a deadline, the verdict is on the Job before the first Pod ends.
			want := []string{"update jobs/status " + jobName, "delete pods a"}
			if !test.ends {
				want = nil
			}
			if !slices.Equal(s.writes(), want) {
				t.Errorf("writes %v, want %v", s.writes(), want)
			}
			s = asMade(t, test.owner)
			status := batchv1.JobStatus{Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "Stopped", Message: test.message},
			}}
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &status})
			if taken := result.Unfounded+result.NoReason == ""; taken != test.ends || len(s.writes()) == 0 == test.ends {
				t.Errorf("the status: unfounded %q, writes %v", result.Unfounded+result.NoReason, s.writes())
			}
		})
	}
}

func ofTemplate(value string) *batchv1.Job {
	owner := helloJob()
	owner.Spec.Template.Annotations = map[string]string{names.StopAnnotation: value}
	return owner
}

// A stopped Job gets no Pod, even if a forged request asks for one.
func TestNoPodIsMadeOfAStoppedJob(t *testing.T) {
	s := asMade(t, stoppedAs(""))
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(1)})
	if result.Refused == nil || !strings.Contains(result.Refused.Message, "the Job is stopped") || len(s.writes()) > 0 {
		t.Errorf("refused %+v, writes %v", result.Refused, s.writes())
	}
}

// By whom a run was stopped its Job says, as it said so when it ended, and admission where that stamps users.
func TestByWhomARunWasStopped(t *testing.T) {
	stamping := func(options *activities.Options) { options.StampedUsers = true }
	ours := job.Stop{By: "ada", Note: "it hangs"}
	for name, test := range map[string]struct {
		reason, message string
		annotations     map[string]string
		with            []option
		want            string
	}{
		"as claimed":                          {event.Stopped, ours.String(), nil, nil, "by ada (claimed): it hangs"},
		"without a name":                      {event.Stopped, job.Stop{Note: "it hangs"}.String(), nil, nil, "without a name: it hangs"},
		"with a reason that names a user":     {event.Stopped, job.Stop{Note: "by root@example.com: x"}.String(), nil, []option{stamping}, "without a name: by root@example.com: x"},
		"without a word":                      {event.Stopped, job.Stop{}.String(), nil, nil, ""},
		"by a user who is stamped":            {event.Stopped, ours.String(), stops(ours, "ada@example.com"), []option{stamping}, "by ada@example.com (claims to be ada): it hangs"},
		"by one whose name no policy guards":  {event.Stopped, ours.String(), stops(ours, "ada@example.com"), nil, "by ada (claimed): it hangs"},
		"by one, and another edits that":      {event.Stopped, ours.String(), stops(job.Stop{By: "bob"}, "bob@example.com"), []option{stamping}, "by ada (claimed): it hangs"},
		"by the worker, for a signal":         {event.Stopped, ours.String(), stops(ours, ""), []option{stamping}, "by ada (claimed): it hangs"},
		"a Job that has failed, and is named": {batchv1.JobReasonDeadlineExceeded, "Job was active longer", stops(ours, "ada@example.com"), []option{stamping}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ended := runsJob(scheduled)
			for key, value := range test.annotations {
				ended.Annotations[key] = value
			}
			ended.Status.Conditions = []batchv1.JobCondition{condition(batchv1.JobFailed, test.reason)}
			ended.Status.Conditions[0].Message = test.message
			s := newStage(t, []runtime.Object{ended}, []*ostinatov1.CronJob{helloCronJob()}, test.with...)
			look := []schedule.Run{{Name: ended.Name, UID: string(ended.UID)}}
			result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, Look: look})
			if len(result.Ended) != 1 || result.Ended[0].Stopped != test.want {
				t.Errorf("ended %+v, want %q", result.Ended, test.want)
			}
		})
	}
}

func stops(stop job.Stop, user string) map[string]string {
	return map[string]string{names.StopAnnotation: stop.Annotation(), names.StopUserAnnotation: user}
}
