package activities_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/temporal"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

func (s *stage) terminate(termination job.Termination) protocol.PodList {
	s.t.Helper()
	return must[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{Job: jobRef, Termination: termination})
}

func suspendedJob() *batchv1.Job {
	suspended := helloJob()
	suspended.Spec.Suspend = ptr.To(true)
	return suspended
}

// stateOf describes the facts of a list: what runs, and what is being deleted.
func stateOf(list protocol.PodList) []string {
	var facts []string
	for _, fact := range list.Facts {
		text := fact.Name
		switch {
		case fact.Ended():
			text += " ended"
		case fact.Deleting:
			text += " deleting"
		default:
			text += " runs"
		}
		if !fact.Tracked {
			text += " untracked"
		}
		facts = append(facts, text)
	}
	if !list.Removed.IsZero() {
		facts = append(facts, "removed at "+list.Removed.String())
	}
	return facts
}

func TestPodsThatHaveNotEndedAreTerminated(t *testing.T) {
	for termination, want := range map[job.Termination][]string{
		job.TerminateForSuspension: {"done ended", "half deleting untracked", "known deleting untracked", "leaving deleting", "unknown deleting untracked"},
		job.TerminateForVerdict:    {"done ended", "half deleting untracked", "known deleting", "leaving deleting", "unknown deleting"},
	} {
		t.Run(string(termination), func(t *testing.T) {
			s := newStage(t, objects(suspendedJob(), helloPod("done", corev1.PodSucceeded), helloPod("known", corev1.PodRunning),
				helloPod("unknown", corev1.PodPending), helloPod("leaving", corev1.PodRunning).Deleting(),
				helloPod("half", corev1.PodRunning).Released(), helloPod("other", corev1.PodRunning).Of(otherJob())), nil)
			list := s.terminate(termination)
			if got := stateOf(list); !slices.Equal(got, want) || len(list.Failures) > 0 {
				t.Errorf("list %v, failures %v, want %v", got, list.Failures, want)
			}
			for name, there := range map[string]bool{"done": true, "leaving": true, "other": true, "half": false, "known": false, "unknown": false} {
				if s.exists(name) != there {
					t.Errorf("Pod %s is there: %v", name, !there)
				}
			}
		})
	}
}

// Somebody deletes Pods of a Job that was just suspended: they are removed as the others are, unless they were being deleted before.
func TestPodsDeletedAfterTheSuspensionAreRemovedUncounted(t *testing.T) {
	undecided := podNames("early", "late", "runs")
	for name, test := range map[string]struct {
		termination job.Termination
		deleting    []string
		want        []string
	}{
		"one was deleted before": {job.TerminateForSuspension, []string{"early-uid"}, []string{"early deleting", "unknown deleting", "removed at 1,2"}},
		"nobody knows":           {job.TerminateForSuspension, nil, []string{"early deleting", "late deleting", "unknown deleting", "removed at 2"}},
		"for a verdict":          {job.TerminateForVerdict, []string{}, []string{"early deleting", "late deleting", "runs deleting", "unknown deleting"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(suspendedJob(), helloPod("early", corev1.PodRunning).Deleting(), helloPod("late", corev1.PodPending).Deleting(),
				helloPod("runs", corev1.PodRunning), helloPod("unknown", corev1.PodRunning).Deleting()), nil)
			list := must[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{
				Job: jobRef, Termination: test.termination, Undecided: undecided, Deleting: test.deleting,
			})
			if got := stateOf(list); !slices.Equal(got, test.want) {
				t.Errorf("list %v, want %v", got, test.want)
			}
		})
	}
}

// An attempt after one that ended before its answer finds Pods that are being deleted, and ends the others.
func TestATerminationGoesOnWhereAnotherEnded(t *testing.T) {
	s := newStage(t, objects(suspendedJob(), helloPod("a", corev1.PodRunning).Deleting().Released(), helloPod("b", corev1.PodRunning)), nil)
	if got, want := stateOf(s.terminate(job.TerminateForSuspension)), []string{"a deleting untracked", "b deleting untracked"}; !slices.Equal(got, want) {
		t.Errorf("list %v, want %v", got, want)
	}
}

// The Pod ends between the list and its delete: it is to be counted.
func TestAPodThatEndsWhileItIsTerminatedIsListedAsItIs(t *testing.T) {
	for _, termination := range []job.Termination{job.TerminateForSuspension, job.TerminateForVerdict} {
		s := newStage(t, objects(suspendedJob(), helloPod("a", corev1.PodRunning)), nil)
		s.kubernetes.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, helloPod("a", corev1.PodSucceeded).Pod, nil
		})
		if got, want := stateOf(s.terminate(termination)), []string{"a ended"}; !slices.Equal(got, want) || !s.exists("a") {
			t.Errorf("%s: list %v, want %v", termination, got, want)
		}
	}
}

// A Pod that a list has just shown is removed as it was listed, without another look. One that has changed since is looked at.
func TestAListedPodIsRemovedUnlessItHasChanged(t *testing.T) {
	listed := func() podBuilder {
		pod := helloPod("a", corev1.PodRunning)
		pod.ResourceVersion = "7"
		return pod
	}
	for name, test := range map[string]struct {
		now   corev1.PodPhase
		want  []string
		looks int
	}{
		"as it was": {corev1.PodRunning, []string{"a deleting untracked"}, 0},
		"it ended":  {corev1.PodSucceeded, []string{"a ended"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(suspendedJob(), listed()), nil)
			looks := 0
			s.kubernetes.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				looks++
				pod := helloPod("a", test.now)
				pod.ResourceVersion = "8"
				return true, pod.Pod, nil
			})
			s.kubernetes.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
				sent := string(action.(clienttesting.PatchAction).GetPatch())
				if !strings.Contains(sent, `"resourceVersion":"7"`) {
					t.Errorf("the release asks for no version: %s", sent)
				}
				if test.now == corev1.PodRunning {
					return false, nil, nil
				}
				return true, nil, apierrors.NewConflict(pods, "a", errors.New("it has changed"))
			})
			if got := stateOf(s.terminate(job.TerminateForSuspension)); !slices.Equal(got, test.want) || looks != test.looks {
				t.Errorf("list %v after %d looks, want %v after %d", got, looks, test.want, test.looks)
			}
		})
	}
}

func TestADeleteThatIsRefusedIsPartOfTheAnswer(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning), helloPod("b", corev1.PodRunning)), nil)
	s.refusePod("delete", "a", apierrors.NewForbidden(pods, "a", errors.New("denied by policy")))
	list := s.terminate(job.TerminateForVerdict)
	if got, want := stateOf(list), []string{"a runs", "b deleting"}; !slices.Equal(got, want) {
		t.Errorf("list %v, want %v", got, want)
	}
	if len(list.Failures) != 1 || list.Failures[0].UID != "a-uid" {
		t.Errorf("failures %+v", list.Failures)
	}
}

// The finalizer is gone by then: who tries again knows that the Pod is not to be counted.
func TestARemovalThatIsRefusedHalfWaySaysSo(t *testing.T) {
	s := newStage(t, objects(suspendedJob(), helloPod("a", corev1.PodRunning)), nil)
	s.refusePod("delete", "a", apierrors.NewForbidden(pods, "a", errors.New("denied by policy")))
	list := s.terminate(job.TerminateForSuspension)
	if got, want := stateOf(list), []string{"a runs untracked"}; !slices.Equal(got, want) || !list.Facts[0].Removed {
		t.Errorf("list %v, facts %+v, want %v", got, list.Facts, want)
	}
	if len(list.Failures) != 1 || !list.Failures[0].Released {
		t.Errorf("failures %+v", list.Failures)
	}
}

func TestNoPodIsTerminatedForAnotherPlan(t *testing.T) {
	succeeded := helloJob()
	succeeded.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32)}}}
	*succeeded.Spec.SuccessPolicy.Rules[0].SucceededCount = 1
	builtIn := helloJob()
	builtIn.Spec.ManagedBy = nil
	for name, test := range map[string]struct {
		job     *batchv1.Job
		request protocol.TerminatePodsRequest
		answers func(protocol.PodList) bool
	}{
		"an edited Job":     {helloJob(), protocol.TerminatePodsRequest{Digest: "another"}, func(l protocol.PodList) bool { return l.Unplanned && l.Spec != nil }},
		"one that succeeds": {succeeded, protocol.TerminatePodsRequest{Judge: job.Indexes{}.With(0)}, func(l protocol.PodList) bool { return l.Matched != nil }},
		"another's":         {builtIn, protocol.TerminatePodsRequest{}, func(l protocol.PodList) bool { return l.Foreign }},
		"one that is gone":  {otherJob(), protocol.TerminatePodsRequest{}, func(l protocol.PodList) bool { return l.Gone }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(test.job, helloPod("a", corev1.PodRunning)), nil)
			test.request.Job, test.request.Termination = jobRef, job.TerminateForVerdict
			if test.request.Digest == "" {
				test.request = s.planned(test.request).(protocol.TerminatePodsRequest)
			}
			list, err := run[protocol.PodList](s, protocol.TerminatePodsActivity, test.request)
			if err != nil || !test.answers(list) || len(s.writes()) > 0 {
				t.Errorf("list %+v, writes %v, error %v", list, s.writes(), err)
			}
		})
	}
}

// Between some Pods and the next the Job is looked at: an edit keeps the rest.
func TestATerminationEndsWithAnEdit(t *testing.T) {
	pods := make([]podBuilder, 150)
	for i := range pods {
		pods[i] = helloPod(fmt.Sprintf("pod-%03d", i), corev1.PodRunning)
	}
	s := newStage(t, objects(suspendedJob(), pods...), nil)
	deletes := 0
	s.kubernetes.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if deletes++; deletes == 1 {
			edited := suspendedJob()
			edited.Generation++
			if err := s.kubernetes.Tracker().Update(batchv1.SchemeGroupVersion.WithResource("jobs"), edited, namespace); err != nil {
				t.Error(err)
			}
		}
		return false, nil, nil
	})
	list := s.terminate(job.TerminateForSuspension)
	if !list.Unplanned || deletes == 0 || deletes >= len(pods) {
		t.Errorf("unplanned %v after %d deletes", list.Unplanned, deletes)
	}
}

// The namespace's Pods are deleted before its Jobs, which have not failed by that. They are let go, so that the Jobs can follow.
func TestNoPodIsTerminatedInANamespaceThatIsDeleted(t *testing.T) {
	going := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, DeletionTimestamp: &metav1.Time{Time: scheduled}, Finalizers: []string{"kubernetes"}}}
	s := newStage(t, append(objects(helloJob(), helloPod("a", corev1.PodRunning)), going), nil)
	_, err := run[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{Job: jobRef, Termination: job.TerminateForVerdict})
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || application.NonRetryable() {
		t.Errorf("error %v", err)
	}
	if s.tracked("a") || !s.exists("a") {
		t.Errorf("the Pod keeps its namespace: tracked %v, or was deleted: %v", s.tracked("a"), !s.exists("a"))
	}
	t.Run("but where the worker may not read namespaces", func(t *testing.T) {
		s := newStage(t, append(objects(helloJob(), helloPod("a", corev1.PodRunning)), going), nil)
		s.refuse("get", "namespaces", -1, apierrors.NewForbidden(corev1.Resource("namespaces"), namespace, errors.New("no right to")))
		if got, want := stateOf(s.terminate(job.TerminateForVerdict)), []string{"a deleting"}; !slices.Equal(got, want) {
			t.Errorf("list %v, want %v", got, want)
		}
	})
}

func TestATerminationThatIsNoneIsRefused(t *testing.T) {
	s := newStage(t, objects(helloJob(), helloPod("a", corev1.PodRunning)), nil)
	for _, termination := range []job.Termination{"", "Everything", job.TerminateForSuspension} { // of a Job that is not suspended
		_, err := run[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{Job: jobRef, Termination: termination})
		wantInvalid(t, err)
	}
	if len(s.writes()) > 0 {
		t.Errorf("writes %v", s.writes())
	}
}

// TestADrainedPodFoundsNoVerdict: a writer of Temporal says that a verdict was recorded before, and nothing was.
func TestADrainedPodFoundsNoVerdict(t *testing.T) {
	for _, reason := range []string{
		batchv1.JobReasonBackoffLimitExceeded, batchv1.JobReasonDeadlineExceeded, batchv1.JobReasonPodFailurePolicy, batchv1.JobReasonCompletionsReached,
	} {
		s := asMade(t, helloJob(), helloPod("b", corev1.PodRunning).Deleting(), helloPod("c", corev1.PodRunning))
		list := must[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{
			Job: jobRef, Termination: job.TerminateForVerdict, Verdict: verdictFor(reason), Status: &batchv1.JobStatus{},
		})
		if list.Refuted == nil || !s.exists("c") {
			t.Errorf("%s: refuted %+v, the Pod is there: %t", reason, list.Refuted, s.exists("c"))
		}
	}
}

// TestAVerdictIsOnTheJobBeforeAPodIsEnded: what founds it may vanish, and it stands all the same for whoever asks again. If nothing runs
// nothing is noted, and where the API server refuses the note the Pods are ended without one.
func TestAVerdictIsOnTheJobBeforeAPodIsEnded(t *testing.T) {
	failed := helloPod("a", corev1.PodFailed)
	owner := helloJob()
	owner.Spec.BackoffLimit = ptr.To[int32](0)
	owner.Annotations = map[string]string{names.CountedAnnotation: "earlier-uid"}
	request := protocol.TerminatePodsRequest{
		Job: jobRef, Termination: job.TerminateForVerdict, Verdict: verdictFor(batchv1.JobReasonBackoffLimitExceeded),
		Status: &batchv1.JobStatus{Failed: 1}, Counted: countedAs(job.PodFailed, "a"),
	}
	s := asMade(t, owner, failed, helloPod("c", corev1.PodRunning))
	must[protocol.PodList](s, protocol.TerminatePodsActivity, request)
	if want := []string{"update jobs/status " + jobName, "delete pods c"}; !slices.Equal(s.writes(), want) {
		t.Errorf("writes %v, want %v", s.writes(), want)
	}
	stored := s.job(jobName)
	if note := stored.Annotations[names.CountedAnnotation]; !job.Decided(stored) || stored.Status.Failed != 0 || note != "earlier-uid" {
		t.Errorf("status %+v, noted %q", stored.Status, note)
	}
	resource := pods.WithVersion("v1")
	if err := errors.Join(s.kubernetes.Tracker().Delete(resource, namespace, "a"), s.kubernetes.Tracker().Add(helloPod("d", corev1.PodRunning).Pod)); err != nil {
		t.Fatal(err)
	}
	list := must[protocol.PodList](s, protocol.TerminatePodsActivity, request)
	if list.Refuted != nil || !slices.Contains(s.writes(), "delete pods d") {
		t.Errorf("again: refuted %+v", list.Refuted)
	}
	s = asMade(t, owner, failed)
	must[protocol.PodList](s, protocol.TerminatePodsActivity, request)
	if len(s.writes()) > 0 {
		t.Errorf("where nothing runs: writes %v", s.writes())
	}
	s = asMade(t, owner, failed, helloPod("c", corev1.PodRunning))
	s.refuse("update", "jobs", -1, apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, jobName, nil))
	must[protocol.PodList](s, protocol.TerminatePodsActivity, request)
	if !slices.Contains(s.writes(), "delete pods c") {
		t.Error("the Pod stays where the note is refused")
	}
}
