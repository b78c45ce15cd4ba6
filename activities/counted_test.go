package activities_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// asMade is a stage whose requests come as they are.
func asMade(t *testing.T, owner *batchv1.Job, pods ...podBuilder) *stage {
	s := newStage(t, objects(owner), nil)
	for _, pod := range pods {
		if err := s.kubernetes.Tracker().Add(pod.Pod); err != nil {
			t.Fatal(err)
		}
	}
	s.made = true
	return s
}

func countedAs(fate job.Fate, names ...string) (counted []job.Counted) {
	for _, name := range names {
		counted = append(counted, job.Counted{Name: name, UID: name + "-uid", Fate: fate})
	}
	return counted
}

// TestAStatusCountsWhatWasSeen: whatever a signal, or the request itself, has made up.
func TestAStatusCountsWhatWasSeen(t *testing.T) {
	succeeded, failed := batchv1.JobStatus{Succeeded: 1}, batchv1.JobStatus{Failed: 1}
	complete := batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{
		condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached), condition(batchv1.JobComplete, batchv1.JobReasonCompletionsReached),
	}}
	failing := batchv1.JobStatus{Failed: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded)}}
	over := batchv1.JobStatus{Failed: 1, Conditions: append(slices.Clone(failing.Conditions), condition(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded))}
	a := func(phase corev1.PodPhase) podBuilder { return helloPod("a", phase) }
	tests := map[string]struct {
		pods    []podBuilder
		status  batchv1.JobStatus
		counted []job.Counted
		active  int32
		// decided has the Job failing already, and over failed.
		decided, over bool
		// unseen are the Pods that are said not to be so; with unfounded the status is refused without one.
		unseen, unfounded bool
		// limit is the Job's backoffLimit; unreasoned that no failure follows.
		limit      int32
		unreasoned bool
	}{
		"a success":                        {pods: []podBuilder{a(corev1.PodSucceeded)}, status: succeeded, counted: countedAs(job.PodSucceeded, "a")},
		"a failure":                        {pods: []podBuilder{a(corev1.PodFailed)}, status: failed, counted: countedAs(job.PodFailed, "a")},
		"one that is being deleted":        {pods: []podBuilder{a(corev1.PodRunning).Deleting()}, status: failed, counted: countedAs(job.PodFailed, "a")},
		"one that is gone":                 {status: failed, counted: countedAs(job.PodFailed, "a"), active: 1},
		"one that runs on for a verdict":   {pods: []podBuilder{a(corev1.PodRunning)}, status: failing, counted: countedAs(job.PodFailed, "a"), decided: true},
		"one that runs, for a new verdict": {pods: []podBuilder{a(corev1.PodRunning)}, status: failing, counted: countedAs(job.PodFailed, "a"), unseen: true},
		"a verdict that is founded":        {pods: []podBuilder{a(corev1.PodFailed)}, status: failing, counted: countedAs(job.PodFailed, "a"), limit: 0},
		"a verdict before the limit":       {pods: []podBuilder{a(corev1.PodFailed)}, status: failing, counted: countedAs(job.PodFailed, "a"), limit: 1, unreasoned: true},
		"a verdict for nothing":            {status: batchv1.JobStatus{Conditions: failing.Conditions}, unreasoned: true},
		"a failure beside a Pod that runs": {pods: []podBuilder{a(corev1.PodFailed), helloPod("b", corev1.PodRunning)}, status: over, counted: countedAs(job.PodFailed, "a"), unseen: true},
		"more of a Job that has failed":    {pods: []podBuilder{a(corev1.PodFailed).Released()}, status: failing, counted: countedAs(job.PodFailed, "a"), over: true, unfounded: true},
		"the end":                          {pods: []podBuilder{a(corev1.PodSucceeded)}, status: complete, counted: countedAs(job.PodSucceeded, "a")},
		"a success without a Pod":          {status: succeeded, unfounded: true},
		"a failure without a Pod":          {status: failed, unfounded: true},
		"an end without a success":         {status: batchv1.JobStatus{Conditions: complete.Conditions}, unfounded: true},
		"an end without a Pod":             {pods: []podBuilder{a(corev1.PodRunning)}, status: complete, unfounded: true},
		"two successes of one Pod":         {pods: []podBuilder{a(corev1.PodSucceeded)}, status: batchv1.JobStatus{Succeeded: 2}, counted: countedAs(job.PodSucceeded, "a"), unfounded: true},
		"a success of a running Pod":       {pods: []podBuilder{a(corev1.PodRunning)}, status: succeeded, counted: countedAs(job.PodSucceeded, "a"), unseen: true},
		"a success that failed":            {pods: []podBuilder{a(corev1.PodFailed)}, status: succeeded, counted: countedAs(job.PodSucceeded, "a"), unseen: true},
		"a failure that succeeded":         {pods: []podBuilder{a(corev1.PodSucceeded)}, status: failed, counted: countedAs(job.PodFailed, "a"), unseen: true},
		"a failure of a running Pod":       {pods: []podBuilder{a(corev1.PodRunning)}, status: failed, counted: countedAs(job.PodFailed, "a"), unseen: true},
		"a neighbour's success":            {pods: []podBuilder{a(corev1.PodSucceeded).Of(otherJob())}, status: succeeded, counted: countedAs(job.PodSucceeded, "a"), unseen: true},
		"a success that is gone":           {status: succeeded, counted: countedAs(job.PodSucceeded, "a"), active: 1, unseen: true},
		"gone, where the one Pod runs":     {pods: []podBuilder{helloPod("b", corev1.PodRunning)}, status: failed, counted: countedAs(job.PodFailed, "a"), active: 1, unseen: true},
		"gone, where there was none":       {status: failed, counted: countedAs(job.PodFailed, "a"), unseen: true},
		"ignored, where no policy says so": {pods: []podBuilder{a(corev1.PodFailed)}, status: batchv1.JobStatus{Active: 1}, counted: countedAs(job.PodIgnored, "a"), unseen: true},
		"terminating, and is":              {pods: []podBuilder{a(corev1.PodRunning).Deleting()}, status: batchv1.JobStatus{Active: 1}, counted: countedAs(job.Undecided, "a")},
		"terminating, and is not":          {pods: []podBuilder{a(corev1.PodRunning)}, status: batchv1.JobStatus{Active: 1}, counted: countedAs(job.Undecided, "a"), unseen: true},
		"a failure that was removed":       {pods: []podBuilder{a(corev1.PodRunning).Deleting().Released().Annotated(names.RemovedAnnotation, "true")}, status: failed, counted: countedAs(job.PodFailed, "a"), unseen: true},
		"to be let go, and succeeded":      {pods: []podBuilder{a(corev1.PodSucceeded)}, status: batchv1.JobStatus{Active: 1}, counted: countedAs(job.PodUncounted, "a"), unseen: true},
		"to be let go, and was never":      {status: batchv1.JobStatus{Active: 1}, counted: countedAs(job.PodUncounted, "a"), unseen: true},
		"to be let go, and runs":           {pods: []podBuilder{a(corev1.PodRunning)}, status: batchv1.JobStatus{Active: 1}, counted: countedAs(job.PodUncounted, "a"), unseen: true},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			owner := helloJob()
			owner.Spec.Completions, owner.Spec.BackoffLimit, owner.Status.Active = ptr.To(int32(1)), ptr.To(test.limit), test.active
			if test.decided {
				owner.Status.Conditions = failing.Conditions
			}
			if test.over {
				owner.Status.Conditions = append(slices.Clone(failing.Conditions), condition(batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded))
				test.status.Conditions = owner.Status.Conditions
			}
			s := asMade(t, owner, test.pods...)
			result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &test.status, Counted: test.counted})
			if len(result.Unseen) > 0 != test.unseen || result.Unfounded != "" != test.unfounded || result.NoReason != "" != test.unreasoned {
				t.Errorf("unseen %v, unfounded %q, no reason %q", result.Unseen, result.Unfounded, result.NoReason)
			}
			if refused := test.unseen || test.unfounded || test.unreasoned; refused != (len(s.writes()) == 0) {
				t.Errorf("writes %v", s.writes())
			}
		})
	}
}

// TestAnIndexIsOverByAPodOfIts: a success of one index says nothing of another. A Pod that is counted is released, so its index has to be
// over by the status: it would be done once more.
func TestAnIndexIsOverByAPodOfIts(t *testing.T) {
	for index, refused := range map[string]bool{"1": false, "2": true, "": true} {
		pod := helloPod("a", corev1.PodSucceeded).Annotated(batchv1.JobCompletionIndexAnnotation, "1")
		s := asMade(t, indexedJob(10), pod)
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
			Job: jobRef, Status: &batchv1.JobStatus{Succeeded: 1, CompletedIndexes: index}, Counted: countedAs(job.PodSucceeded, "a"),
		})
		if (result.Unfounded != "") != refused {
			t.Errorf("index %s: %q", index, result.Unfounded)
		}
	}
}

// TestNothingIsMadeForWhatIsNotSo: no Pod comes beside one that is said to have ended.
func TestNothingIsMadeForWhatIsNotSo(t *testing.T) {
	s := asMade(t, helloJob(), helloPod("a", corev1.PodRunning))
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
		Job: jobRef, Creates: creates(1), Status: &batchv1.JobStatus{Succeeded: 1, Active: 1}, Counted: countedAs(job.PodSucceeded, "a"),
	})
	if len(result.Unseen) != 1 || len(s.writes()) != 0 {
		t.Errorf("unseen %v, writes %v", result.Unseen, s.writes())
	}
}

// TestNoPodComesBesideOneThatRuns: what the workflow takes for gone is named, so that it looks again.
func TestNoPodComesBesideOneThatRuns(t *testing.T) {
	owner := helloJob()
	owner.Spec.Parallelism, owner.Spec.Completions = ptr.To[int32](1), ptr.To[int32](2)
	s := asMade(t, owner, helloPod("a", corev1.PodRunning))
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(2)[1:]})
	if result.Refused == nil || !slices.Equal(result.Unseen, []string{"a-uid"}) || len(s.writes()) != 0 {
		t.Errorf("refused %+v, unseen %v, writes %v", result.Refused, result.Unseen, s.writes())
	}
}

// TestNoPodComesBesideOneThatTerminates, where its replacement is to wait for its end: a signal may have said that a removed Pod is gone.
func TestNoPodComesBesideOneThatTerminates(t *testing.T) {
	for policy, refuses := range map[batchv1.PodReplacementPolicy]bool{batchv1.Failed: true, batchv1.TerminatingOrFailed: false} {
		owner := helloJob()
		owner.Spec.Parallelism, owner.Spec.Completions, owner.Spec.PodReplacementPolicy = ptr.To[int32](1), ptr.To[int32](2), &policy
		s := asMade(t, owner, helloPod("a", corev1.PodRunning).Deleting().Released().Annotated(names.RemovedAnnotation, "true"))
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates(2)[1:]})
		if (result.Refused != nil) != refuses || slices.Equal(result.Unseen, []string{"a-uid"}) != refuses || len(s.writes()) == 0 != refuses {
			t.Errorf("%s: refused %+v, unseen %v, writes %v", policy, result.Refused, result.Unseen, s.writes())
		}
	}
}

// TestAWorkQueueEndsWithItsLastPod: a Job without completions is over when none of its Pods runs.
func TestAWorkQueueEndsWithItsLastPod(t *testing.T) {
	for name, other := range map[string]podBuilder{
		"one runs": helloPod("b", corev1.PodRunning), "one is being deleted": helloPod("b", corev1.PodRunning).Deleting(),
		"one was let go to be removed": helloPod("b", corev1.PodRunning).Released().Annotated(names.RemovedAnnotation, "true"),
	} {
		owner := helloJob()
		owner.Spec.Completions = nil
		s := asMade(t, owner, helloPod("a", corev1.PodSucceeded), other)
		status := batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached)}}
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &status, Counted: countedAs(job.PodSucceeded, "a")})
		if refused := len(result.Unseen) > 0; refused != (name == "one runs") || refused != (len(s.writes()) == 0) {
			t.Errorf("%s: unseen %v, writes %v", name, result.Unseen, s.writes())
		}
	}
}

// TestAListShowsWhatHinders: a create of the built-in controller has landed behind the first list of a take-over, and lacks PodWatch's
// label. What lists select is written to the Pod.
func TestAListShowsWhatHinders(t *testing.T) {
	for name, request := range map[string]protocol.JobRequest{
		"the end of a work queue": {
			Job: jobRef, Counted: countedAs(job.PodSucceeded, "a"),
			Status: &batchv1.JobStatus{Succeeded: 1, Conditions: []batchv1.JobCondition{condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached)}},
		},
		"a create": {Job: jobRef, Creates: creates(2)[1:]},
	} {
		owner := helloJob()
		owner.Spec.Completions, owner.Spec.Parallelism = nil, ptr.To[int32](1)
		s := asMade(t, owner, helloPod("a", corev1.PodSucceeded), helloPod("b", corev1.PodRunning).Unseen())
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, request)
		list := s.list(protocol.ListPodsRequest{Undecided: podNames("a")})
		seen := slices.Equal(listed(list), []string{"a", "b"}) && slices.Equal(s.writes(), []string{"patch pods b"})
		if !seen || !slices.Equal(result.Unseen, []string{"b-uid"}) {
			t.Errorf("%s: unseen %v, listed %q, writes %v", name, result.Unseen, listed(list), s.writes())
		}
	}
}

// TestAVerdictIsJudgedBeforeItsPodsAreEnded: whatever a signal has said of restarts, exit codes and ends.
func TestAVerdictIsJudgedBeforeItsPodsAreEnded(t *testing.T) {
	failed := func(code int32) podBuilder {
		pod := helloPod("a", corev1.PodFailed)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}}
		return pod
	}
	restarted := func(times int32) podBuilder {
		pod := helloPod("a", corev1.PodRunning)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: times}}
		return pod
	}
	indexed := func(index string, phase corev1.PodPhase) podBuilder {
		return helloPod("a", phase).Annotated(batchv1.JobCompletionIndexAnnotation, index)
	}
	failures := func(spec *batchv1.JobSpec) { spec.BackoffLimit = ptr.To[int32](0) }
	restarts := func(spec *batchv1.JobSpec) {
		spec.Template.Spec.RestartPolicy, spec.BackoffLimit = corev1.RestartPolicyOnFailure, ptr.To[int32](3)
	}
	byCode := func(spec *batchv1.JobSpec) {
		spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:      batchv1.PodFailurePolicyActionFailJob,
			OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
		}}}
	}
	perIndex := func(spec *batchv1.JobSpec) {
		*spec = indexedJob(3).Spec
		spec.BackoffLimitPerIndex, spec.MaxFailedIndexes = ptr.To[int32](0), ptr.To[int32](0)
	}
	oneRetry := func(spec *batchv1.JobSpec) {
		perIndex(spec)
		spec.BackoffLimitPerIndex = ptr.To[int32](1)
	}
	deadline := func(seconds int64) func(*batchv1.JobSpec) {
		return func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = &seconds }
	}
	enough := func(spec *batchv1.JobSpec) {
		*spec = indexedJob(3).Spec
		spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr.To("1")}}}
	}
	one, counted := batchv1.JobStatus{Failed: 1}, countedAs(job.PodFailed, "a")
	index := batchv1.JobStatus{Failed: 1, FailedIndexes: ptr.To("1")}
	success := func(index string) batchv1.JobStatus { return batchv1.JobStatus{Succeeded: 1, CompletedIndexes: index} }
	tests := map[string]struct {
		spec    func(*batchv1.JobSpec)
		pod     podBuilder
		reason  string
		status  batchv1.JobStatus
		counted []job.Counted
		ends    bool
	}{
		"a failure":                       {failures, failed(1), batchv1.JobReasonBackoffLimitExceeded, one, counted, true},
		"a failure of a Pod that runs":    {failures, restarted(0), batchv1.JobReasonBackoffLimitExceeded, one, counted, false},
		"a failure that is allowed":       {restarts, failed(1), batchv1.JobReasonBackoffLimitExceeded, one, counted, false},
		"restarts":                        {restarts, restarted(3), batchv1.JobReasonBackoffLimitExceeded, batchv1.JobStatus{}, nil, true},
		"restarts that were not":          {restarts, restarted(2), batchv1.JobReasonBackoffLimitExceeded, batchv1.JobStatus{}, nil, false},
		"an exit code":                    {byCode, failed(42), batchv1.JobReasonPodFailurePolicy, one, counted, true},
		"another exit code":               {byCode, failed(1), batchv1.JobReasonPodFailurePolicy, one, counted, false},
		"an index":                        {perIndex, indexed("1", corev1.PodFailed), batchv1.JobReasonMaxFailedIndexesExceeded, index, counted, true},
		"an index that has another try":   {oneRetry, indexed("1", corev1.PodFailed), batchv1.JobReasonMaxFailedIndexesExceeded, index, counted, false},
		"another index":                   {perIndex, indexed("2", corev1.PodFailed), batchv1.JobReasonMaxFailedIndexesExceeded, index, counted, false},
		"a deadline":                      {deadline(600), restarted(0), batchv1.JobReasonDeadlineExceeded, batchv1.JobStatus{}, nil, true},
		"a deadline that is to come":      {deadline(7200), restarted(0), batchv1.JobReasonDeadlineExceeded, batchv1.JobStatus{}, nil, false},
		"a success":                       {enough, indexed("1", corev1.PodSucceeded), batchv1.JobReasonSuccessPolicy, success("1"), countedAs(job.PodSucceeded, "a"), true},
		"a success that is not enough":    {enough, indexed("2", corev1.PodSucceeded), batchv1.JobReasonSuccessPolicy, success("2"), countedAs(job.PodSucceeded, "a"), false},
		"a success of an index that runs": {enough, indexed("1", corev1.PodRunning), batchv1.JobReasonSuccessPolicy, success("1"), countedAs(job.PodSucceeded, "a"), false},
		"completions, by which none ends": {failures, failed(1), batchv1.JobReasonCompletionsReached, one, counted, false},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			owner := helloJob()
			test.spec(&owner.Spec)
			owner.Status.StartTime = ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))
			s := asMade(t, owner, test.pod, helloPod("runs", corev1.PodRunning).Annotated(batchv1.JobCompletionIndexAnnotation, "0"))
			list := must[protocol.PodList](s, protocol.TerminatePodsActivity, protocol.TerminatePodsRequest{
				Job: jobRef, Termination: job.TerminateForVerdict, Verdict: verdictFor(test.reason), Status: &test.status, Counted: test.counted,
			})
			if (list.Refuted == nil) != test.ends || test.ends == (len(s.writes()) == 0) {
				t.Errorf("refuted %+v, writes %v", list.Refuted, s.writes())
			}
		})
	}
}

// TestAReleaseNeedsACount: a Pod that nothing counts keeps its finalizer while the Job takes in counts.
func TestAReleaseNeedsACount(t *testing.T) {
	s := asMade(t, helloJob(), helloPod("a", corev1.PodSucceeded))
	release := []job.Release{{Name: "a", UID: "a-uid", Phase: corev1.PodSucceeded}}
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: release})
	if !s.tracked("a") || len(result.Failures) != 1 || !result.Failures[0].Unnoted {
		t.Errorf("tracked %v, failures %+v", s.tracked("a"), result.Failures)
	}
	request := protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{Succeeded: 1}, Counted: countedAs(job.PodSucceeded, "a")}
	must[protocol.JobResult](s, protocol.CarryOutActivity, request)
	must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Releases: release})
	if s.tracked("a") {
		t.Error("a Pod that is counted was not released")
	}
	// A repetition finds the Pod counted, whatever became of it.
	if err := s.kubernetes.Tracker().Delete(pods.WithVersion("v1"), namespace, "a"); err != nil {
		t.Fatal(err)
	}
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, request); len(result.Unseen) != 0 || result.Unfounded != "" {
		t.Errorf("unseen %v, unfounded %q", result.Unseen, result.Unfounded)
	}
}

// TestWhatIsCountedIsReadAtLittleCost: one by its name from the watch cache, and many by one list.
func TestWhatIsCountedIsReadAtLittleCost(t *testing.T) {
	for count, want := range map[int]int{1: 1, 10: 10, 100: 1} {
		var pods []podBuilder
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("p%d", i))
			pods = append(pods, helloPod(names[i], corev1.PodSucceeded))
		}
		s := asMade(t, helloJob(), pods...)
		must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
			Job: jobRef, Status: &batchv1.JobStatus{Succeeded: int32(count)}, Counted: countedAs(job.PodSucceeded, names...),
		})
		if reads := s.podReads(); len(reads) != want {
			t.Errorf("%d Pods: reads %v", count, reads)
		}
	}
}

// TestPodsThatWereReleasedCountHoweverMany: a restore of Temporal has forgotten that they were counted, and a list has found them by
// their names. They do not carry PodWatch's label any more.
func TestPodsThatWereReleasedCountHoweverMany(t *testing.T) {
	for name, test := range map[string]struct{ released, gone int }{"ten": {10, 0}, "eleven": {11, 0}, "many, and many are gone": {50, 50}} {
		var pods []podBuilder
		var released, gone []string
		for i := range test.released {
			released = append(released, fmt.Sprintf("released-%d", i))
			pods = append(pods, helloPod(released[i], corev1.PodSucceeded).Released().Unseen())
		}
		for i := range test.gone {
			gone = append(gone, fmt.Sprintf("gone-%d", i))
		}
		owner := helloJob()
		owner.Status = batchv1.JobStatus{Succeeded: int32(test.released), Active: int32(test.gone)}
		s := asMade(t, owner, pods...)
		list := s.list(protocol.ListPodsRequest{Undecided: podNames(append(gone, released...)...)})
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
			Job: jobRef, Counted: append(countedAs(job.PodFailed, gone...), countedAs(job.PodSucceeded, released...)...),
			Status: &batchv1.JobStatus{Succeeded: int32(test.released), Failed: int32(test.gone)},
		})
		if len(list.Facts) != test.released || len(result.Unseen) != 0 || result.Unfounded != "" {
			t.Errorf("%s: listed %d, unseen %d, unfounded %q", name, len(list.Facts), len(result.Unseen), result.Unfounded)
		}
	}
}

// TestPodsThatNeverWereCostAStatusFewReads: a writer of Temporal may name any number of them.
func TestPodsThatNeverWereCostAStatusFewReads(t *testing.T) {
	s := asMade(t, helloJob())
	names := make([]string, job.MaxCounted)
	for i := range names {
		names[i] = fmt.Sprintf("web-%d", i)
	}
	result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
		Job: jobRef, Status: &batchv1.JobStatus{Succeeded: int32(len(names))}, Counted: countedAs(job.PodSucceeded, names...),
	})
	reads := len(s.podReads())
	if len(result.Unseen) != len(names) || reads > 50 {
		t.Errorf("%d unseen, %d reads of Pods", len(result.Unseen), reads)
	}
}

// TestAWatchCacheThatIsBehindRefutesNothing: two Pods end a moment apart, and when the second is counted the API server's watch cache
// has the Job as it was before the first one was.
func TestAWatchCacheThatIsBehindRefutesNothing(t *testing.T) {
	for name, second := range map[string]struct {
		counted []job.Counted
		status  batchv1.JobStatus
		refuted bool
	}{
		"one more":                     {countedAs(job.PodFailed, "b"), batchv1.JobStatus{Failed: 2}, false},
		"the same, which is noted now": {countedAs(job.PodFailed, "a"), batchv1.JobStatus{Failed: 1}, false},
		"two more than there are":      {countedAs(job.PodFailed, "b"), batchv1.JobStatus{Failed: 3}, true},
	} {
		s := asMade(t, helloJob(), helloPod("a", corev1.PodFailed), helloPod("b", corev1.PodFailed))
		behind := s.job(jobName)
		behind.ResourceVersion = "before"
		must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{
			Job: jobRef, Status: &batchv1.JobStatus{Failed: 1}, Counted: countedAs(job.PodFailed, "a"),
		})
		err := s.kubernetes.Tracker().Delete(pods.WithVersion("v1"), namespace, "a")
		if err != nil {
			t.Fatal(err)
		}
		s.kubernetes.PrependReactor("get", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
			stale := action.(clienttesting.GetActionImpl).GetOptions.ResourceVersion == "0"
			return stale, behind.DeepCopy(), nil
		})
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &second.status, Counted: second.counted})
		refuted := result.Unfounded != "" || len(result.Unseen) > 0
		if refuted != second.refuted {
			t.Errorf("%s: unfounded %q, unseen %v", name, result.Unfounded, result.Unseen)
		}
	}
}

func verdictFor(reason string) job.Verdict {
	verdict := job.Verdict{Interim: batchv1.JobFailureTarget, Reason: reason, Message: "by the test"}
	if slices.Contains([]string{batchv1.JobReasonSuccessPolicy, batchv1.JobReasonCompletionsReached}, reason) {
		verdict.Interim = batchv1.JobSuccessCriteriaMet
	}
	return verdict
}

// TestAnIndexThatIsOverStaysOver: the API server lets the number of an elastic Job fall, and its index would be done once more.
func TestAnIndexThatIsOverStaysOver(t *testing.T) {
	for completions, refused := range map[int32]bool{3: true, 1: false} {
		owner := indexedJob(completions)
		owner.Spec.Parallelism = &completions
		owner.Status.Succeeded, owner.Status.CompletedIndexes = 2, "0,1"
		s := asMade(t, owner)
		result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &batchv1.JobStatus{Succeeded: 1, CompletedIndexes: "0"}})
		if (result.Unfounded != "") != refused || (len(s.writes()) == 0) != refused {
			t.Errorf("%d completions: %q, writes %v", completions, result.Unfounded, s.writes())
		}
	}
}
