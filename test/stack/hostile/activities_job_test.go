package hostile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// begins bounds the wait for a Job's first Pod to run: the bridge sees the Job, a
	// workflow task creates the Pod, and the simulated node starts it.
	begins = 20 * time.Second
	// ends bounds the wait for a Job whose Pod runs for a second, with the attacks of
	// other tests beside it.
	ends = 40 * time.Second
)

// victim creates a Job of ours that runs for long, and waits until its Pods run and it has a status, which may come later.
func victim(t *testing.T, namespace, name string, options ...harness.JobOption) *batchv1.Job {
	t.Helper()
	created := stack.CreateJob(t, namespace, name, harness.JobSpec(append([]harness.JobOption{harness.RunSeconds(600)}, options...)...))
	var begun *batchv1.Job
	harness.Eventually(t, begins, func(ctx context.Context) (err error) {
		if err = stack.PodsAre(ctx, namespace, name, corev1.PodRunning, int(*created.Spec.Parallelism)); err != nil {
			return err
		}
		begun, err = stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && begun.Status.StartTime == nil {
			err = fmt.Errorf("Job %s has no startTime", name)
		}
		return err
	})
	return begun
}

func digestOf(object *batchv1.Job) string { return job.SpecOf(object).Digest() }

// everyActivity asks, for a Job, every activity to touch a Pod or the Job.
func everyActivity(reference protocol.ObjectReference, digest string, pod protocol.ObjectReference) map[string]any {
	releases := []job.Release{{Name: pod.Name, UID: pod.UID, Phase: corev1.PodFailed, Logs: true}}
	deletes := []job.Delete{{Name: pod.Name, UID: pod.UID}}
	return map[string]any{
		protocol.CarryOutActivity: protocol.JobRequest{
			Job: reference, Digest: digest, Creates: []job.Create{{Name: names.Pod(reference.Name, reference.UID, 1), Attempt: 1}},
			Deletes: deletes, Releases: releases, Status: &batchv1.JobStatus{Failed: 7},
			Events: []event.Event{event.Warning("FailedCreate", "by an attacker")},
		},
		protocol.ReleaseOrphansActivity: protocol.ReleaseOrphansRequest{Job: reference},
		protocol.ListPodsActivity:       protocol.ListPodsRequest{Job: reference, Undecided: []job.PodName{{Name: pod.Name, UID: pod.UID}}, Rebuild: true},
		protocol.TerminatePodsActivity:  protocol.TerminatePodsRequest{Job: reference, Digest: digest, Termination: job.TerminateForVerdict, Verdict: job.Verdict{Interim: batchv1.JobFailureTarget, Reason: batchv1.JobReasonBackoffLimitExceeded}, Status: &batchv1.JobStatus{}, Undecided: []job.PodName{{Name: pod.Name, UID: pod.UID}}},
		protocol.SetSuspendActivity:     protocol.SetSuspendRequest{Kind: protocol.JobKind, Object: reference, Wish: protocol.Wish{Suspend: false, At: time.Now()}},
	}
}

// TestNoActivityActsForAJobThatIsNotOurs: whatever the Job is said to be, by whoever
// knows the names and UIDs.
func TestNoActivityActsForAJobThatIsNotOurs(t *testing.T) {
	t.Parallel()
	namespace, elsewhere := stack.Namespace(t), stack.Namespace(t)
	attacker, others := newAttacker(t), newBystanders(t, namespace)
	ours := victim(t, elsewhere, "ours")
	noUID, oldUID, inOther := referenceTo(others.builtIn), referenceTo(ours), referenceTo(ours)
	noUID.UID, oldUID.UID, inOther.Namespace = "", "00000000-0000-0000-0000-000000000000", namespace
	oursNoUID := referenceTo(ours)
	oursNoUID.UID = ""
	tests := map[string]struct {
		reference protocol.ObjectReference
		owner     *batchv1.Job
		pod       string
		invalid   bool
		// gone and foreign are what is told of the Job.
		gone, foreign bool
	}{
		"the built-in controller's":         {referenceTo(others.builtIn), others.builtIn, "a built-in Job's", false, false, true},
		"another controller's":              {referenceTo(others.another), others.another, "another Job's", false, false, true},
		"the built-in controller's, no UID": {noUID, others.builtIn, "a built-in Job's", true, false, false},
		"ours, no UID":                      {oursNoUID, ours, "nobody's", true, false, false},
		"ours, said to be native":           {native(referenceTo(ours)), ours, "nobody's", true, false, false},
		"a native CronJob":                  {native(referenceTo(others.native)), others.builtIn, "a built-in Job's", true, false, false},
		"ours, before it was re-created":    {oldUID, ours, "nobody's", false, true, false},
		"ours, in another namespace":        {inOther, ours, "a Deployment's", false, true, false},
		"a path":                            {protocol.ObjectReference{Namespace: namespace + "/pods", Name: "../pods/x", UID: "x"}, ours, "nobody's", true, false, false},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		requests := everyActivity(test.reference, digestOf(test.owner), referenceTo(others.pods[test.pod]))
		for _, activity := range slices.Sorted(maps.Keys(requests)) {
			t.Run(name+"/"+activity, func(t *testing.T) {
				given := attacker.ask(t, activity, requests[activity])
				defer others.wantUnchanged(t)
				wantSilence(t, given)
				if test.invalid {
					wantInvalid(t, given)
					return
				}
				result := tells[struct {
					Gone, Foreign bool
					Released      int
					Pods          []any
				}](t, given)
				if activity == protocol.ReleaseOrphansActivity {
					result.Gone, result.Foreign = test.gone, test.foreign
				}
				if result.Gone != test.gone || result.Foreign != test.foreign || result.Released+len(result.Pods) != 0 {
					t.Errorf("answer %s", given.Result)
				}
			})
		}
	}
	if err := stack.PodsAre(t.Context(), elsewhere, "ours", corev1.PodRunning, 1); err != nil {
		t.Error(err)
	}
}

// TestNoActivityTouchesAPodThatIsNotTheJobs: the Job is ours, and the Pods are not its.
func TestNoActivityTouchesAPodThatIsNotTheJobs(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	attacker, others, distant := newAttacker(t), newBystanders(t, namespace), newBystanders(t, stack.Namespace(t))
	ours, sibling := victim(t, namespace, "ours"), victim(t, namespace, "sibling")
	pods, err := stack.PodsOf(t.Context(), namespace, sibling.Name)
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]protocol.ObjectReference{"a sibling Job's": referenceTo(&pods[0])}
	for what, pod := range others.pods {
		targets[what] = referenceTo(pod)
		noUID := referenceTo(pod)
		noUID.UID = ""
		targets[what+", no UID"] = noUID
	}
	for what, pod := range distant.pods {
		targets[what+", in another namespace"] = referenceTo(pod)
	}
	for _, what := range slices.Sorted(maps.Keys(targets)) {
		target := targets[what]
		// Without a UID there is no such Pod; nor is there one of another namespace.
		requests := everyActivity(referenceTo(ours), digestOf(ours), target)
		for _, activity := range []string{protocol.CarryOutActivity, protocol.ListPodsActivity} {
			request := requests[activity]
			if reconcile, ok := request.(protocol.JobRequest); ok {
				// What the Job's own status says, and its own Pods, are no other object's matter.
				reconcile.Creates, reconcile.Status, reconcile.Events = nil, nil, nil
				request = reconcile
			}
			t.Run(what+"/"+activity, func(t *testing.T) {
				given := attacker.ask(t, activity, request)
				wantSilence(t, given)
				result := tells[protocol.JobResult](t, given)
				for _, found := range result.Unexpected {
					if !found.Disowned || found.Phase != "" || found.Message != "" || found.Reason != "" || found.Node != "" {
						t.Errorf("found %+v", found)
					}
				}
				for _, log := range result.Logs {
					if log.Lines != "" {
						t.Errorf("log %+v", log)
					}
				}
				others.wantUnchanged(t)
				distant.wantUnchanged(t)
			})
		}
	}
	for _, name := range []string{ours.Name, sibling.Name} {
		if err := stack.PodsAre(t.Context(), namespace, name, corev1.PodRunning, 1); err != nil {
			t.Error(err)
		}
	}
}

// TestOnlyWhatTheJobPrescribesIsCreated: the names and the number of Pods come from the
// object, not from a request.
func TestOnlyWhatTheJobPrescribesIsCreated(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	attacker := newAttacker(t)
	running := victim(t, namespace, "running")
	indexed := victim(t, namespace, "indexed", harness.Indexed(3), harness.Parallelism(3))
	suspended := stack.CreateJob(t, namespace, "suspended", harness.JobSpec(harness.Suspended(), harness.Parallelism(3)))
	create := func(owner *batchv1.Job, attempts ...int64) []job.Create {
		var creates []job.Create
		for _, attempt := range attempts {
			creates = append(creates, job.Create{Name: names.Pod(owner.Name, string(owner.UID), attempt), Attempt: attempt})
		}
		return creates
	}
	ofIndex := func(index int32, attempt int64) job.Create {
		return job.Create{Name: names.IndexedPod(indexed.Name, string(indexed.UID), index, attempt), Attempt: attempt, Index: &index}
	}
	misnamed := create(running, 1)
	misnamed[0].Name = "web-0"
	tests := map[string]struct {
		owner   *batchv1.Job
		creates []job.Create
	}{
		"more than parallelism":           {running, create(running, 1, 2, 3)},
		"one more than runs":              {running, create(running, 2)},
		"a later attempt":                 {running, create(running, 1000)},
		"another name":                    {running, misnamed},
		"another Job's name":              {running, create(suspended, 1)},
		"an index where there are none":   {running, []job.Create{ofIndex(0, 9)}},
		"an index beyond":                 {indexed, []job.Create{ofIndex(3, 9)}},
		"an index that has its Pod":       {indexed, []job.Create{ofIndex(0, 9)}},
		"no index where there is one":     {indexed, create(indexed, 9)},
		"while it is suspended":           {suspended, create(suspended, 1)},
		"while it is suspended, too many": {suspended, create(suspended, 1, 2, 3, 4)},
	}
	owned := func(t *testing.T) map[string]bool {
		pods, err := stack.Pods(t.Context(), namespace)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, pod := range pods {
			found[pod.Name] = true
		}
		return found
	}
	before := owned(t)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		// The Job as it is now: its digest is no secret.
		object, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(t.Context(), test.owner.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		reference, digest := referenceTo(object), digestOf(object)
		for activity, request := range map[string]any{
			protocol.CarryOutActivity: protocol.JobRequest{Job: reference, Digest: digest, Creates: test.creates},
		} {
			t.Run(name+"/"+activity, func(t *testing.T) {
				given := attacker.ask(t, activity, request)
				result := tells[protocol.JobResult](t, given)
				if result.Refused == nil || result.Refused.Reason != ledger.NotPrescribed || len(result.Created) != 0 {
					t.Errorf("answer %s", given.Result)
				}
				if after := owned(t); !maps.Equal(before, after) {
					t.Errorf("the Pods were %v and are %v", slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
				}
			})
		}
	}
}

// TestNoRequestMakesPodsBeyondTheJobs: neither a status with failures that were not, nor one that ends the Job, is written, and no Pod
// is ended for a verdict without a reason.
func TestNoRequestMakesPodsBeyondTheJobs(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	attacker, ours := newAttacker(t), victim(t, namespace, "ours")
	success := []batchv1.JobCondition{
		{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached},
		{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonCompletionsReached},
	}
	for _, status := range []batchv1.JobStatus{
		{StartTime: ours.Status.StartTime, Active: 1, Failed: 1},
		{StartTime: ours.Status.StartTime, CompletionTime: ours.Status.StartTime, Succeeded: 1, Conditions: success},
	} {
		given := tells[protocol.JobResult](t, attacker.ask(t, protocol.CarryOutActivity, protocol.JobRequest{Job: referenceTo(ours), Digest: digestOf(ours), Status: &status}))
		if given.Unfounded == "" {
			t.Errorf("answer %+v", given)
		}
	}
	for reason, interim := range map[string]batchv1.JobConditionType{
		batchv1.JobReasonBackoffLimitExceeded: batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded: batchv1.JobFailureTarget,
		batchv1.JobReasonSuccessPolicy: batchv1.JobSuccessCriteriaMet,
	} {
		list := tells[protocol.PodList](t, attacker.ask(t, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{
			Job: referenceTo(ours), Digest: digestOf(ours), Termination: job.TerminateForVerdict, Status: &ours.Status,
			Verdict: job.Verdict{Interim: interim, Reason: reason, Message: "by the attacker"},
		}))
		if list.Refuted == nil {
			t.Errorf("%s: answer %+v", reason, list)
		}
	}
	for attempt := int64(2); attempt < 6; attempt++ {
		attacker.ask(t, protocol.CarryOutActivity, protocol.JobRequest{
			Job: referenceTo(ours), Digest: digestOf(ours), Creates: []job.Create{{Name: names.Pod(ours.Name, string(ours.UID), attempt), Attempt: attempt}},
		})
	}
	if err := stack.PodsAre(t.Context(), namespace, ours.Name, corev1.PodRunning, 1); err != nil {
		t.Error(err)
	}
}
