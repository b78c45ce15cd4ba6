package job_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

const (
	// blobLimit is Temporal's limit of one payload, in bytes; stateLimit is what a
	// State may take of it, since an input holds more than the State: the size up to
	// which the workflow carries one over.
	blobLimit  = 2 << 20
	stateLimit = 1_500_000
)

// large describes a Job that is as hard to store as can be.
type large struct {
	completions, active, failures int32
}

// state returns the State of the Job in the middle of its life: every other index of
// the first part is done and every fourth has failed, so that no intervals form; Pods
// with long names run; other indexes have failed each at its own time.
func (l large) state() (job.State, job.Spec) {
	random := rand.New(rand.NewPCG(1, 2))
	name := "a-job-whose-name-is-as-long-as-the-name-of-an-indexed-job-can"
	spec := job.Spec{
		Generation: 1, Parallelism: l.active, Completions: pointer(l.completions), CompletionMode: batchv1.IndexedCompletion,
		BackoffLimit: 1 << 30, BackoffLimitPerIndex: pointer[int32](5), MaxFailedIndexes: pointer(l.completions),
		RestartPolicy: corev1.RestartPolicyNever, PodReplacementPolicy: batchv1.Failed,
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42},
			},
		}}},
	}
	state := job.State{}.Of("a-namespace", name, uuid(random))
	state.StartTime = start.Truncate(time.Second)
	state.Attempts = int64(l.completions)
	var done, failed []int32
	rest := l.completions - l.active - l.failures
	for index := range rest {
		switch index % 4 {
		case 0, 2:
			done = append(done, index)
		case 1:
			failed = append(failed, index)
		}
	}
	state.Completed, state.FailedIndexes = job.Indexes{}.With(done...), job.Indexes{}.With(failed...)
	state.Succeeded, state.Failed = state.Completed.Len(), 6*state.FailedIndexes.Len()+l.failures
	for i := range l.failures {
		state.Indexes = append(state.Indexes, job.IndexRecord{
			Index: rest + i, Failures: 1 + random.Int32N(4), Ignored: random.Int32N(3),
			Last: start.Add(time.Duration(random.Int32N(600)) * time.Second).Truncate(time.Second),
		})
	}
	for i := range l.active {
		index, attempt := rest+l.failures+i, state.Attempts+1
		state.Attempts = attempt
		state.Pods = append(state.Pods, job.Pod{Since: start.Truncate(time.Second), PodFact: job.PodFact{Attempt: attempt,
			Name: names.IndexedPod(name, state.UID, index, attempt), UID: uuid(random), Index: &index, Tracked: true,
			Version: 1_000_000 + random.Int64N(1_000_000), Phase: corev1.PodRunning, Ready: true, Failures: 1, Ignored: 1,
			Node: fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", random.IntN(256), random.IntN(256), random.IntN(256)),
			// Started and the like are stored with the Pod.
			Started: start.Add(time.Duration(i) * time.Second).Truncate(time.Second), Restarts: 1,
		}})
	}
	for range 20 {
		state.Evidence = append(state.Evidence, job.Attempt{
			Pod: state.Pods[0].Name, UID: uuid(random), Message: printable(random, 256), Log: printable(random, 4<<10),
		})
	}
	status := job.Decide(state, spec, start).Next
	state.Written, state.WrittenCompleted, state.WrittenFailed = status.Written, status.WrittenCompleted, status.WrittenFailed
	return state, spec
}

func uuid(random *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", random.Uint32(), random.Uint32N(1<<16), random.Uint32N(1<<12), random.Uint32N(1<<16), random.Uint64N(1<<48))
}

func printable(random *rand.Rand, length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = byte(' ' + random.IntN('~'-' '))
	}
	return string(text)
}

// The largest Jobs: 100,000 completions with 5,000 Pods at a time, and the worst that
// maxActive lets happen; with thousands of indexes, and with all of them,
// between two attempts.
func TestTheLargestStatesFitIntoOnePayload(t *testing.T) {
	tests := []large{
		{completions: 1_000, active: 500, failures: 250},
		{completions: 10_000, active: 1_000, failures: 5_000},
		{completions: 100_000, active: 5_000, failures: 5_000},
		{completions: 100_000, active: 5_000, failures: 95_000},
		{completions: 100_000, active: maxActive, failures: 90_000},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			state, _ := test.state()
			data, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes, %.1f %% of Temporal's limit", len(data), 100*float64(len(data))/blobLimit)
			if len(data) > stateLimit {
				t.Errorf("the State takes %d bytes, want at most %d", len(data), stateLimit)
			}
			var decoded job.State
			if err := json.Unmarshal(data, &decoded); err != nil {
				t.Fatal(err)
			}
			equal(t, "completed indexes after a round trip", decoded.Completed.Equal(state.Completed), true)
			equal(t, "failures of indexes after a round trip", decoded.Indexes, state.Indexes)
			equal(t, "Pods after a round trip", len(decoded.Pods), len(state.Pods))
		})
	}
}

// A plan of the largest Job, when 500 Pods have ended since the last one: a third of
// them well.
func BenchmarkPlan(b *testing.B) {
	for _, failures := range []int32{5_000, 90_000} {
		b.Run(fmt.Sprintf("failures=%d", failures), func(b *testing.B) {
			state, spec := large{completions: 100_000, active: 5_000, failures: failures}.state()
			state = state.Observe(ended(state, 500))
			now := start.Add(time.Minute)
			for b.Loop() {
				job.Decide(state, spec, now)
			}
		})
	}
}

func BenchmarkObserve(b *testing.B) {
	state, _ := large{completions: 100_000, active: 5_000, failures: 5_000}.state()
	facts := ended(state, 500)
	for b.Loop() {
		state.Observe(facts)
	}
}

func BenchmarkApply(b *testing.B) {
	state, spec := large{completions: 100_000, active: 5_000, failures: 5_000}.state()
	state = state.Observe(ended(state, 500))
	now := start.Add(time.Minute)
	plan := job.Decide(state, spec, now)
	report := job.Report{}
	for i, create := range plan.Creates {
		report.Created = append(report.Created, job.CreatedPod{Name: create.Name, UID: uidOf(i)})
	}
	for b.Loop() {
		job.Apply(plan, report, now)
	}
}

func BenchmarkMarshalState(b *testing.B) {
	state, _ := large{completions: 100_000, active: 5_000, failures: 5_000}.state()
	for b.Loop() {
		if _, err := json.Marshal(state); err != nil {
			b.Fatal(err)
		}
	}
}

// ended returns the facts that the first count Pods have ended, a third of them well.
func ended(state job.State, count int) []job.PodFact {
	var facts []job.PodFact
	for i, pod := range state.Pods[:count] {
		fact := pod.PodFact
		fact.Version++
		fact.Phase, fact.Finished, fact.Ready = corev1.PodFailed, start, false
		if i%3 == 0 {
			fact.Phase = corev1.PodSucceeded
		} else {
			fact.ExitCode, fact.Reason, fact.Exits = 1, "Error", []job.Exit{{Container: "main", Code: 1}}
		}
		facts = append(facts, fact)
	}
	return facts
}

// pods returns facts of so many Pods, each with all that Kubernetes may say of it.
func pods(count int, say func(*job.PodFact)) []job.PodFact {
	random := rand.New(rand.NewPCG(1, 2))
	name, uid := "a-job-whose-name-is-as-long-as-the-name-of-an-indexed-job-can", uuid(random)
	facts := make([]job.PodFact, count)
	for i := range facts {
		index, attempt := int32(i), int64(i+1)
		facts[i] = job.PodFact{
			Name: names.IndexedPod(name, uid, index, attempt), UID: uuid(random), Index: &index, Attempt: attempt, Tracked: true,
			Version: 1_000_000 + random.Int64N(1_000_000), Failures: 1, Ignored: 1,
			Node: fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", random.IntN(256), random.IntN(256), random.IntN(256)),
		}
		say(&facts[i])
	}
	return facts
}

// hard are the Pods that take the most words.
var hard = map[string]func(*job.PodFact){
	"pending": func(fact *job.PodFact) {
		fact.Phase, fact.Pending, fact.PendingMessage = corev1.PodPending, job.PendingUnschedulable, message(fact)
	},
	"failed": func(fact *job.PodFact) {
		fact.Phase, fact.Started, fact.Finished = corev1.PodFailed, start, start.Add(time.Second)
		fact.Container, fact.ExitCode, fact.Reason, fact.Message = "main", 42, "Error", message(fact)
		fact.Exits = []job.Exit{{Container: "main", Code: 42}, {Container: "sidecar", Code: 137}, {Container: "proxy", Code: 143}}
		fact.Conditions = []string{"PodReadyToStartContainers=False", "Initialized=True", "Ready=False", "ContainersReady=False", "PodScheduled=True"}
	},
}

func message(fact *job.PodFact) string {
	return fmt.Sprintf("%s: %-200.200s", fact.UID, "what the kubelet says of it: ")
}

// TestListsOfTheMostPodsAreRead: as many Pods as run at a time have all failed, or wait.
func TestListsOfTheMostPodsAreRead(t *testing.T) {
	spec := job.Spec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{143},
		},
	}}}}
	for name, say := range hard {
		for kind, spec := range map[string]job.Spec{"with a policy": spec, "without": {}} {
			t.Run(name+" "+kind, func(t *testing.T) {
				facts := pods(maxActive, say)
				short := job.Shortened(slices.Clone(facts), spec)
				equal(t, "Pods", len(short), len(facts))
				data, err := json.Marshal(protocol.PodList{List: job.List{Facts: short}})
				if err != nil {
					t.Fatal(err)
				}
				var list protocol.PodList
				if err := json.Unmarshal(data, &list); err != nil || len(list.Facts) != len(facts) || len(data) > blobLimit {
					t.Errorf("%d bytes, %d Pods: %v", len(data), len(list.Facts), err)
				}
				last := len(facts) - 1
				equal(t, "message of the last", short[last].Message+short[last].PendingMessage, facts[last].Message+facts[last].PendingMessage)
				if name == "failed" && kind == "with a policy" {
					equal(t, "exits that the policy names", short[0].Exits, []job.Exit{{Container: "proxy", Code: 143}})
				}
			})
		}
	}
	t.Run("few", func(t *testing.T) {
		facts := pods(100, hard["failed"])
		equal(t, "facts", job.Shortened(slices.Clone(facts), job.Spec{}), facts)
	})
}

// TestWhetherAStateFitsIsKnown: a workflow continues as new only with what is read again.
func TestWhetherAStateFitsIsKnown(t *testing.T) {
	for name, test := range map[string]struct {
		pods int
		say  func(*job.PodFact)
		fits bool
	}{
		"10,000 that run":   {10_000, func(fact *job.PodFact) { fact.Phase, fact.Started = corev1.PodRunning, start }, true},
		"10,000 that wait":  {10_000, hard["pending"], true},
		"5,000 that failed": {5_000, hard["failed"], true},
		"10,000 that failed and are not released yet": {10_000, hard["failed"], false},
	} {
		t.Run(name, func(t *testing.T) {
			state := job.State{}.Of("a-namespace", "a-job", "uid-1")
			for _, fact := range pods(test.pods, test.say) {
				state.Pods = append(state.Pods, job.Pod{PodFact: fact, Since: start})
			}
			data, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			var again job.State
			read := json.Unmarshal(data, &again)
			if (read == nil) != test.fits || (state.Fits(stateLimit) == nil) != test.fits {
				t.Errorf("%d bytes: read: %v, fits: %v", len(data), read, state.Fits(stateLimit))
			}
		})
	}
}
