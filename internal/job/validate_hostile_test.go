package job_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
)

// Anybody who may write to Temporal may send any Spec, State and facts. What passes
// Validate must not panic, and what does not must say why.
func TestWhatNoJobHasIsNotValid(t *testing.T) {
	negative, far := int32(-5), int64(-1)
	for name, err := range map[string]error{
		"parallelism":          job.Spec{Parallelism: -5}.Validate(),
		"completions":          job.Spec{Completions: &negative}.Validate(),
		"back-off limit":       job.Spec{BackoffLimit: -1}.Validate(),
		"limit per index":      job.Spec{BackoffLimitPerIndex: &negative}.Validate(),
		"failed indexes":       job.Spec{MaxFailedIndexes: &negative}.Validate(),
		"deadline":             job.Spec{ActiveDeadlineSeconds: &far}.Validate(),
		"pending deadline":     job.Spec{PendingDeadlineSeconds: -1}.Validate(),
		"endless back-off":     job.Spec{BackoffBaseSeconds: math.MaxInt64}.Validate(),
		"default back-off":     job.Spec{Defaults: job.Defaults{BackoffCap: -time.Second}}.Validate(),
		"policy of many rules": job.Spec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: make([]batchv1.PodFailurePolicyRule, 5000)}}.Validate(),
		"long mode":            job.Spec{CompletionMode: batchv1.CompletionMode(strings.Repeat("x", 1<<20))}.Validate(),
		"counters":             job.State{Failed: -1}.Validate(),
		"attempts":             job.State{Attempts: -1}.Validate(),
		"refusals":             job.State{StatusRetry: job.Retry{Refusals: -1}}.Validate(),
		"many Pods":            job.State{Pods: make([]job.Pod, 30_000)}.Validate(),
		"a long mistake":       job.State{Announced: []string{strings.Repeat("x", 1025)}}.Validate(),
		"a long refusal":       job.State{StatusRetry: job.Retry{Message: strings.Repeat("x", 1<<20)}}.Validate(),
		"a condition":          job.State{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True", Reason: "Evil"}}}.Validate(),
		"a verdict":            job.State{Verdict: job.Verdict{Interim: batchv1.JobFailureTarget, Reason: "Evil"}}.Validate(),
		"a verdict of another": job.State{Verdict: job.Verdict{Interim: "evil.example/x", Reason: batchv1.JobReasonDeadlineExceeded}}.Validate(),
		"long log":             job.State{Evidence: []job.Attempt{{Log: strings.Repeat("x", 1<<20)}}}.Validate(),
		"failures of an index": job.State{Indexes: job.IndexRecords{{Index: -1}}}.Validate(),
		"index of a Pod":       job.ValidateFacts([]job.PodFact{{Index: &negative}}),
		"restarts of a Pod":    job.ValidateFacts([]job.PodFact{{Restarts: -1}}),
		"message of a Pod":     job.ValidateFacts([]job.PodFact{{Message: strings.Repeat("x", 1<<20)}}),
	} {
		if err == nil {
			t.Errorf("%s: is valid", name)
		}
	}
}

func TestHugeSetsOfIndexesCostNothing(t *testing.T) {
	if set := job.ParseIndexes("0-1,3,5,7,9-2147483647,0-2147483647"); set.Len() != math.MaxInt32 {
		t.Errorf("%d indexes", set.Len())
	}
	sparse := job.Indexes{}
	for i := range int32(600) {
		sparse = sparse.With(3 * i)
	}
	data, err := json.Marshal(sparse.With(math.MaxInt32))
	if err != nil || len(data) > 4096 {
		t.Errorf("%d bytes, error %v", len(data), err)
	}
}

// Who completes an activity in the worker's place may name any Pods as removed: these are no longer the Job's, and nothing else follows.
func TestAForgedListOfRemovedPodsMarksPodsOfTheJobOnly(t *testing.T) {
	for _, places := range []string{"0-2147483647", "1,1,0-5", "-7,0-1", "0-1,99999999999", "1-0", "many", "bits:////", "bits:!", strings.Repeat("0-1,", 1<<16)} {
		var list job.List
		if err := json.Unmarshal([]byte(`{"pods":[],"removed":"`+places+`"}`), &list); (err != nil) != (places == "bits:!") {
			t.Errorf("%.20s: error %v", places, err)
		}
		d := newDesk(t, specOf(2, 2))
		d.suspend()
		state := d.decide().Terminated(list, d.now, d.now)
		plan := job.Decide(state, d.spec, d.now.Add(time.Minute))
		if err := plan.Next.Validate(); err != nil || len(plan.Next.Pods) > 2 || plan.Next.Failed+plan.Next.Succeeded > 0 {
			t.Errorf("%.20s: %d Pods, %d failed, %d succeeded, error %v", places, len(plan.Next.Pods), plan.Next.Failed, plan.Next.Succeeded, err)
		}
	}
}

// What is valid can be planned with, whatever it says.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(`{"parallelism":2,"completions":3,"completionMode":"Indexed"}`), []byte(`{"name":"a","uid":"b","pods":[{"name":"x","uid":"y","phase":"Failed","tracked":true}]}`), int64(0))
	f.Add([]byte(`{"parallelism":1,"suspend":true}`), []byte(`{"failed":3,"completed":"1-5","pods":[{"name":"x","index":2}]}`), int64(1_800_000_000))
	f.Add([]byte(`{"parallelism":0,"podFailurePolicy":{"rules":[{"action":"FailJob"}]}}`), []byte(`{"conditions":[{"type":"Failed","status":"True"}]}`), int64(-1))
	f.Fuzz(func(t *testing.T, specJSON, stateJSON []byte, seconds int64) {
		var spec job.Spec
		var state job.State
		if json.Unmarshal(specJSON, &spec) != nil || json.Unmarshal(stateJSON, &state) != nil || spec.Validate() != nil || state.Validate() != nil {
			return
		}
		now := time.Unix(seconds%(1<<33), 0)
		plan := job.Decide(state, spec, now)
		state = job.Apply(plan, job.Report{}, now)
		for _, pod := range state.Pods {
			state = state.Observe([]job.PodFact{pod.PodFact})
		}
		job.Decide(state, spec, now.Add(time.Hour))
		if _, err := json.Marshal(state); err != nil {
			t.Fatal(err)
		}
	})
}
