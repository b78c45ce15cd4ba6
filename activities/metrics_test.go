package activities_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// Names and labels of the metrics are upstream's (parity 2.16).
const (
	podsFinished    = "job_controller_job_pods_finished_total"
	indexesFinished = "job_controller_job_finished_indexes_total"
	failuresHandled = "job_controller_pod_failures_handled_by_failure_policy_total"
	podsCreated     = "job_controller_job_pods_creation_total"
	requestsRefused = "ostinato_requests_refused_total"
)

func indexedJob(completions int32) *batchv1.Job {
	job := helloJob()
	job.Spec.CompletionMode, job.Spec.Completions, job.Spec.Parallelism = ptr.To(batchv1.IndexedCompletion), &completions, &completions
	return job
}

func (s *stage) write(status batchv1.JobStatus, handled map[batchv1.PodFailurePolicyAction]int32) protocol.JobResult {
	s.t.Helper()
	return must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &status, Handled: handled})
}

func TestFinishedIndexesAreCounted(t *testing.T) {
	s := newStage(t, objects(indexedJob(10)), nil)
	status := batchv1.JobStatus{Succeeded: 3, Failed: 2, CompletedIndexes: "0-2"}
	for range 2 { // a repetition adds nothing
		s.write(status, nil)
	}
	if got := s.metric(indexesFinished, "global", "succeeded"); got != 3 {
		t.Errorf("%v indexes succeeded", got)
	}
	if got := s.metric(podsFinished, "Indexed", "succeeded"); got != 3 {
		t.Errorf("%v Pods succeeded", got)
	}
	if got := s.metric(podsFinished, "Indexed", "failed"); got != 2 {
		t.Errorf("%v Pods failed", got)
	}
}

// TestIndexesLostByScalingDownDontCount: 8 and 9 were completed, and lie beyond
// what the Job has now; 3 is new.
func TestIndexesLostByScalingDownDontCount(t *testing.T) {
	scaled := indexedJob(5)
	scaled.Status = batchv1.JobStatus{Succeeded: 5, CompletedIndexes: "0-2,8,9"}
	s := newStage(t, objects(scaled), nil)
	s.write(batchv1.JobStatus{Succeeded: 4, CompletedIndexes: "0-3"}, nil)
	for name, labels := range map[string][]string{indexesFinished: {"global", "succeeded"}, podsFinished: {"Indexed", "succeeded"}} {
		if got := s.metric(name, labels...); got != 1 {
			t.Errorf("%s is %v, want 1", name, got)
		}
	}
}

func TestFailedIndexesAreCounted(t *testing.T) {
	owner := indexedJob(10)
	owner.Spec.BackoffLimitPerIndex = ptr.To(int32(1))
	s := newStage(t, objects(owner), nil)
	failed := "1,4"
	s.write(batchv1.JobStatus{Failed: 4, CompletedIndexes: "0", Succeeded: 1, FailedIndexes: &failed}, nil)
	if succeeded, failed := s.metric(indexesFinished, "perIndex", "succeeded"), s.metric(indexesFinished, "perIndex", "failed"); succeeded != 1 || failed != 2 {
		t.Errorf("%v succeeded, %v failed", succeeded, failed)
	}
}

func TestHandledFailuresAreCountedWithTheStatus(t *testing.T) {
	handled := map[batchv1.PodFailurePolicyAction]int32{
		batchv1.PodFailurePolicyActionIgnore: 2, batchv1.PodFailurePolicyActionFailJob: 1,
	}
	s := newStage(t, objects(helloJob()), nil)
	s.refuse("update", "jobs", 1, apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, jobName, nil))
	status := batchv1.JobStatus{Failed: 1}
	if refused := s.write(status, handled); refused.StatusRefused == "" || s.metric(failuresHandled, "Ignore") != 0 {
		t.Errorf("%v ignored with a status that was refused", s.metric(failuresHandled, "Ignore"))
	}
	for range 2 {
		s.write(status, handled)
	}
	if ignored, ended := s.metric(failuresHandled, "Ignore"), s.metric(failuresHandled, "FailJob"); ignored != 2 || ended != 1 {
		t.Errorf("%v ignored, %v failed the Job", ignored, ended)
	}
}

// A failure that a rule ignores changes no status where another Pod starts at once.
func TestHandledFailuresAreCountedWithoutAStatus(t *testing.T) {
	s := newStage(t, objects(helloJob()), nil)
	handled := map[batchv1.PodFailurePolicyAction]int32{batchv1.PodFailurePolicyActionIgnore: 1}
	must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Handled: handled})
	if ignored := s.metric(failuresHandled, "Ignore"); ignored != 1 {
		t.Errorf("%v ignored", ignored)
	}
}

func TestCreatedPodsAreCountedByTheirReason(t *testing.T) {
	onlyFailed := batchv1.Failed
	one := int32(1)
	index := int32(0)
	tests := map[string]struct {
		policy          *batchv1.PodReplacementPolicy
		status, planned batchv1.JobStatus
		create          job.Create
		want            string
	}{
		"first":                     {nil, batchv1.JobStatus{}, batchv1.JobStatus{}, job.Create{}, "new"},
		"after a failure":           {nil, batchv1.JobStatus{Failed: 1}, batchv1.JobStatus{Failed: 1}, job.Create{}, "recreate_terminating_or_failed"},
		"after a failure, just now": {nil, batchv1.JobStatus{}, batchv1.JobStatus{Failed: 1}, job.Create{}, "recreate_terminating_or_failed"},
		"while one terminates":      {nil, batchv1.JobStatus{Terminating: &one}, batchv1.JobStatus{}, job.Create{}, "recreate_terminating_or_failed"},
		"policy Failed":             {&onlyFailed, batchv1.JobStatus{Failed: 1}, batchv1.JobStatus{Failed: 1}, job.Create{}, "recreate_failed"},
		"policy Failed, first":      {&onlyFailed, batchv1.JobStatus{}, batchv1.JobStatus{}, job.Create{}, "new"},
		"again for an index":        {&onlyFailed, batchv1.JobStatus{}, batchv1.JobStatus{}, job.Create{Index: &index, Ignored: 1}, "recreate_failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			owner := helloJob()
			owner.Spec.PodReplacementPolicy, owner.Status = test.policy, test.status
			test.create.Name, test.create.Attempt = names.Pod(jobName, jobUID, 1), 1
			if test.create.Index != nil {
				owner.Spec.CompletionMode, test.create.Name = ptr.To(batchv1.IndexedCompletion), indexedCreate(index, 1).Name
			}
			s := newStage(t, objects(owner), nil)
			must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: []job.Create{test.create}, Status: &test.planned})
			if got := s.metric(podsCreated, test.want, "succeeded"); got != 1 {
				t.Errorf("%v Pods created for the reason %s", got, test.want)
			}
		})
	}
}

// TestWhatNoPlanCountsIsRefused: each action is a series that is kept for as long as the worker lives.
func TestWhatNoPlanCountsIsRefused(t *testing.T) {
	for name, handled := range map[string]map[batchv1.PodFailurePolicyAction]int32{
		"an action that there is not": {"Evil": 1},
		"no action":                   {"": 1},
		"fewer than none":             {batchv1.PodFailurePolicyActionIgnore: -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, objects(helloJob()), nil)
			_, err := run[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Handled: handled})
			wantInvalid(t, err)
		})
	}
}

// TestAnEndThatIsNoneOfOursIsRefused: the reason of an end is a label of a metric.
func TestAnEndThatIsNoneOfOursIsRefused(t *testing.T) {
	for _, reason := range []string{"Evil1", ""} {
		s := newStage(t, objects(helloJob()), nil)
		status := batchv1.JobStatus{Conditions: []batchv1.JobCondition{condition(batchv1.JobFailed, reason)}}
		_, err := run[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Status: &status})
		wantInvalid(t, err)
	}
}

func TestRequestsThatAreRefusedAreCounted(t *testing.T) {
	s := newStage(t, objects(helloJob()), []*ostinatov1.CronJob{helloCronJob()})
	reference := protocol.ObjectReference{Namespace: "%", Name: "x", UID: "y"}
	if _, err := run[any](s, protocol.CarryOutActivity, protocol.JobRequest{Job: reference}); err == nil {
		t.Error("no error")
	}
	if _, err := run[any](s, protocol.WatchPodsActivity, protocol.PodWatchInput{Shard: 0, Shards: 1}); err == nil {
		t.Error("no error")
	}
	start := schedule.Start{Name: "hello-1", Scheduled: scheduled.Add(time.Hour)}
	refused := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Start: start})
	if refused.Refused == nil {
		t.Error("a start that the schedule does not name is not refused")
	}
	creates := []job.Create{{Name: "of-no-attempt", Attempt: 1}}
	if refused := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef, Creates: creates}); refused.Refused == nil {
		t.Error("Pods that the Job does not prescribe are not refused")
	}
	for _, counted := range []struct{ activity, reason string }{
		{protocol.CarryOutActivity, protocol.InvalidRequestErrorType},
		{protocol.WatchPodsActivity, protocol.InvalidRequestErrorType},
		{protocol.StartRunActivity, ledger.NotPrescribed},
		{protocol.CarryOutActivity, ledger.NotPrescribed},
	} {
		if got := s.metric(requestsRefused, counted.activity, counted.reason); got != 1 {
			t.Errorf("%s, %s: counted %v times", counted.activity, counted.reason, got)
		}
	}
	// The API server was not asked.
	if got := s.metric("ostinato_kubernetes_refusals_total", "Pod", ledger.NotPrescribed); got != 0 {
		t.Errorf("%v refusals are the API server's", got)
	}
}
