package job_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// TestWhatIsEndedIsRemembered: a run that does not fail by itself says as much as one that does.
func TestWhatIsEndedIsRemembered(t *testing.T) {
	deadline := func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer(int64(60)) }
	for name, test := range map[string]struct {
		spec func(*job.Spec)
		// ends has the Job or its Pods end in this way.
		ends func(*desk)
		// pod changes how its first Pod is before that.
		pod  func(*job.PodFact)
		want string
		log  bool
	}{
		"by a deadline": {spec: deadline, ends: overdue, want: "DeadlineExceeded", log: true},
		"by a deadline, without a node": {spec: deadline, ends: overdue, want: "DeadlineExceeded", pod: func(pod *job.PodFact) {
			pod.Phase, pod.Pending = corev1.PodPending, job.PendingUnschedulable
		}},
		"by a deadline, behind an init container": {spec: deadline, ends: overdue, want: "DeadlineExceeded", log: true, pod: func(pod *job.PodFact) {
			pod.Phase, pod.Node = corev1.PodPending, "node"
		}},
		"by a deadline, which it has not started by": {spec: deadline, ends: overdue, want: "DeadlineExceeded", log: true, pod: func(pod *job.PodFact) {
			pod.Phase, pod.Node, pod.Pending, pod.PendingMessage = corev1.PodPending, "node", job.PendingConfigError, `configmap "x" not found`
		}},
		"by a pending deadline": {
			spec: func(spec *job.Spec) { spec.PendingDeadlineSeconds, spec.BackoffLimit = 60, 0 }, want: job.PendingDeadlineExceeded,
			pod: func(pod *job.PodFact) {
				pod.Phase, pod.Node, pod.Pending = corev1.PodPending, "node", job.PendingConfigError
			},
			ends: func(d *desk) {
				d.state.Pods[0].Since = d.now
				d.now = d.now.Add(2 * time.Minute)
				d.listed()
				d.ended()
			},
		},
		"beside a failure": {spec: func(spec *job.Spec) { spec.BackoffLimit = 0 }, want: "BackoffLimitExceeded", log: true, ends: func(d *desk) {
			d.state = d.state.Observe([]job.PodFact{d.end(2, corev1.PodFailed)})
			d.ended()
		}},
		"by a person": {want: job.EndedPodDeleted, log: true, ends: func(d *desk) {
			d.pods[0].Deleting = true
			d.pods[0].Version++
			d.state = d.state.Observe(d.pods)
		}},
		"with its Job": {want: job.EndedJobDeleted, log: true, ends: func(d *desk) {
			d.edit(func(spec *job.Spec) { spec.Deleting = true })
			d.listed()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(2, 2)
			if test.spec != nil {
				test.spec(&spec)
			}
			d := newDesk(t, spec)
			if test.pod != nil {
				test.pod(&d.pods[0])
				d.state.Pods[0].PodFact = d.pods[0]
			}
			test.ends(d)
			plan := d.decide()
			attempt := attemptOf(plan.Next, uidOf(1))
			if attempt == nil || attempt.Ended != test.want {
				t.Fatalf("evidence %+v, want the Pod ended for %s", plan.Next.Evidence, test.want)
			}
			equal(t, "asks for the log", asksForLog(plan, uidOf(1)), test.log)
			equal(t, "is in the history first", plan.Recorded(), true)
		})
	}
}

// TestHowAPodThatIsEndedEndsIsRememberedToo: its exit code comes when it was counted long ago.
func TestHowAPodThatIsEndedEndsIsRememberedToo(t *testing.T) {
	spec := specOf(1, 1)
	spec.ActiveDeadlineSeconds = pointer(int64(60))
	d := newDesk(t, spec)
	overdue(d)
	d.apply(d.decide(), job.Report{Logs: []job.PodLog{{UID: uidOf(1), Lines: "waiting for lock"}}})
	pod := d.end(1, corev1.PodFailed)
	pod.Container, pod.ExitCode, pod.Reason = "main", 137, "Error"
	d.state = d.state.Observe([]job.PodFact{pod})
	plan := d.decide()
	want := job.Attempt{Pod: pod.Name, UID: pod.UID, Container: "main", ExitCode: 137, Reason: "Error", Ended: "DeadlineExceeded", Log: "waiting for lock"}
	want.Finished = pod.Finished
	equal(t, "evidence", plan.Next.Evidence, []job.Attempt{want})
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"FailureTarget/DeadlineExceeded", "Failed/DeadlineExceeded"})
}

// TestWhatAPodHasSaidBeforeItWasEndedStays: the node knows nothing of a container that has never started, and a program
// that is restarted again and again fails by the signal that ends it in the end.
func TestWhatAPodHasSaidBeforeItWasEndedStays(t *testing.T) {
	for name, test := range map[string]struct{ before, after, want job.PodFact }{
		"a node that knows nothing": {
			before: job.PodFact{Phase: corev1.PodPending, Pending: job.PendingConfigError, PendingMessage: `configmap "x" not found`},
			after:  job.PodFact{Container: "main", ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "it could not be located"},
			want:   job.PodFact{Reason: "ConfigError", Message: `configmap "x" not found`},
		},
		"garbage collection that says nothing": {
			before: job.PodFact{Phase: corev1.PodPending, Pending: job.PendingLost, PendingMessage: "node x has not reported"},
			want:   job.PodFact{Reason: "Lost", Message: "node x has not reported"},
		},
		"restarts in place": {
			before: job.PodFact{Phase: corev1.PodRunning, Container: "main", ExitCode: 8, Reason: "Error"},
			after:  job.PodFact{Container: "main", ExitCode: 143, Reason: "Error"},
			want:   job.PodFact{Container: "main", ExitCode: 8, Reason: "Error"},
		},
		"a Pod that started late": {
			before: job.PodFact{Phase: corev1.PodPending, Pending: job.PendingConfigError, PendingMessage: "ContainerCreating"},
			after:  job.PodFact{Container: "main", ExitCode: 143, Reason: "Error"},
			want:   job.PodFact{Container: "main", ExitCode: 143, Reason: "Error"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(1, 1)
			spec.ActiveDeadlineSeconds = pointer(int64(60))
			d := newDesk(t, spec)
			said := func(fact job.PodFact) {
				fact.Name, fact.UID, fact.Attempt, fact.Tracked, fact.Deleting = d.pods[0].Name, d.pods[0].UID, d.pods[0].Attempt, d.pods[0].Tracked, d.pods[0].Deleting
				fact.Version = d.pods[0].Version + 1
				d.pods[0] = fact
			}
			said(test.before)
			d.state.Pods[0].PodFact = d.pods[0]
			overdue(d)
			d.apply(d.decide(), job.Report{})
			test.after.Phase = corev1.PodFailed
			said(test.after)
			d.state = d.state.Observe(d.pods)
			left := attemptOf(d.decide().Next, uidOf(1))
			if left == nil {
				t.Fatal("no evidence")
			}
			got := job.PodFact{Container: left.Container, ExitCode: left.ExitCode, Reason: left.Reason, Message: left.Message}
			equal(t, "evidence", got, test.want)
		})
	}
}

// TestOfManyPodsThatAreEndedSomeAreRemembered: the one that failed is worth more than twenty beside it.
func TestOfManyPodsThatAreEndedSomeAreRemembered(t *testing.T) {
	spec := specOf(30, 30)
	spec.BackoffLimit = 0
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(7, corev1.PodFailed)})
	d.ended()
	next := d.decide().Next
	equal(t, "kept", len(next.Evidence), 6)
	equal(t, "not kept", next.EvidenceOmitted, 24)
	if failed := attemptOf(next, uidOf(7)); failed == nil || failed.Ended != "" {
		t.Errorf("evidence %+v", next.Evidence)
	}
}

// A success ends the Pods that it does not need: none of them has failed.
func TestWhatASuccessEndsIsNoEvidence(t *testing.T) {
	spec := specOf(3, 3)
	spec.CompletionMode, spec.HasSuccessPolicy = batchv1.IndexedCompletion, true
	d := newDesk(t, spec)
	d.state = d.state.Observe([]job.PodFact{d.end(1, corev1.PodSucceeded)})
	d.state = d.decide().Matched(0)
	d.ended()
	plan := d.decide()
	equal(t, "evidence", len(plan.Next.Evidence), 0)
	equal(t, "asks for logs", asksForLog(plan, uidOf(2)), false)
}

// overdue lets the Job's deadline pass, and has its Pods ended for it.
func overdue(d *desk) {
	d.now = d.now.Add(2 * time.Minute)
	d.ended()
}

// ended carries out that all Pods are to be ended.
func (d *desk) ended() {
	d.t.Helper()
	d.terminate(d.decide())
}

func attemptOf(state job.State, uid string) *job.Attempt {
	for i := range state.Evidence {
		if state.Evidence[i].UID == uid {
			return &state.Evidence[i]
		}
	}
	return nil
}

func asksForLog(plan job.Plan, uid string) bool {
	for _, release := range plan.Releases {
		if release.UID == uid && release.Logs {
			return true
		}
	}
	return false
}

// TestALogThatIsKnownIsNotLost: the Pods of a Job that is deleted are looked at twice, and the second time a node may have removed the log.
func TestALogThatIsKnownIsNotLost(t *testing.T) {
	for name, test := range map[string]struct{ first, second, want job.PodLog }{
		"gone the second time":      {job.PodLog{Lines: "last"}, job.PodLog{Missing: "the node has none any more"}, job.PodLog{Lines: "last"}},
		"longer the second time":    {job.PodLog{Lines: "last"}, job.PodLog{Lines: "last\nwords"}, job.PodLog{Lines: "last\nwords"}},
		"there the second time":     {job.PodLog{Missing: "too many"}, job.PodLog{Lines: "last"}, job.PodLog{Lines: "last"}},
		"missing for a long reason": {job.PodLog{}, job.PodLog{Missing: strings.Repeat("x", 5000)}, job.PodLog{Missing: strings.Repeat("x", 4093) + "..."}},
	} {
		d := newDesk(t, specOf(1, 1))
		d.edit(func(spec *job.Spec) { spec.Deleting = true })
		d.listed()
		test.first.UID, test.second.UID = uidOf(1), uidOf(1)
		d.apply(d.decide(), job.Report{Logs: []job.PodLog{test.first}})
		state := d.state.EndedWith(d.pods, []job.PodLog{test.second})
		left := attemptOf(state, uidOf(1))
		if left == nil || left.Log != test.want.Lines || left.LogMissing != test.want.Missing || state.Validate() != nil {
			t.Errorf("%s: evidence %.200v, %v", name, left, state.Validate())
		}
	}
}
