package job_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// drawFact draws a fact about one of a few Pods of an Indexed Job: some named by
// Ostinato, some not. What never changes of a Pod is the same in all its facts.
func drawFact(t *rapid.T) job.PodFact {
	pod := rapid.IntRange(1, 6).Draw(t, "pod")
	index := int32(pod-1) % 3
	name, uid, attempt := names.IndexedPod("work", "uid-1", index, int64(pod)), uidOf(pod), int64(pod)
	if pod > 4 {
		name, attempt = "stranger-"+uid, 0
	}
	return job.PodFact{
		Attempt:  attempt,
		Name:     name,
		UID:      uid,
		Index:    &index,
		Version:  rapid.Int64Range(0, 3).Draw(t, "version"),
		Phase:    rapid.SampledFrom([]corev1.PodPhase{"", corev1.PodPending, corev1.PodRunning, corev1.PodUnknown, corev1.PodSucceeded, corev1.PodFailed}).Draw(t, "phase"),
		Ready:    rapid.Bool().Draw(t, "ready"),
		Deleting: rapid.Bool().Draw(t, "deleting"),
		Gone:     oneIn(t, 5, "gone"),
		Disowned: oneIn(t, 8, "disowned"),
		Tracked:  rapid.Bool().Draw(t, "tracked"),
		Restarts: rapid.Int32Range(0, 2).Draw(t, "restarts"),
		Finished: rapid.SampledFrom([]time.Time{{}, start, start.Add(time.Second)}).Draw(t, "finished"),
		Started:  rapid.SampledFrom([]time.Time{{}, start, start.Add(time.Second)}).Draw(t, "started"),
		ExitCode: rapid.Int32Range(0, 2).Draw(t, "exit code"),
		Signal:   rapid.Int32Range(0, 1).Draw(t, "signal"),
		Reason:   rapid.SampledFrom([]string{"", "Error", "OOMKilled"}).Draw(t, "reason"),
		Message:  rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "message"),
		Exits:    drawExits(t),
		Conditions: rapid.SampledFrom([][]string{
			nil, {"Ready=False"}, {"Ready=False", "DisruptionTarget=True"},
		}).Draw(t, "conditions"),
		Node:           rapid.SampledFrom([]string{"", "node-1"}).Draw(t, "node"),
		Failures:       rapid.Int32Range(0, 1).Draw(t, "failures"),
		Ignored:        rapid.Int32Range(0, 1).Draw(t, "ignored"),
		Pending:        rapid.SampledFrom([]job.PendingReason{"", job.PendingImagePull, job.PendingUnschedulable}).Draw(t, "pending"),
		PendingMessage: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "pending message"),
		PendingSince:   rapid.SampledFrom([]time.Time{{}, start, start.Add(time.Minute)}).Draw(t, "pending since"),
	}
}

// Properties of Observe: facts may come in any order, in any grouping, and twice;
// the State, and so what is planned from it, is the same.
func TestObserveIsAJoin(t *testing.T) {
	setFlag(t, "rapid.checks", "2000")
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		spec.CompletionMode, spec.Completions, spec.Parallelism, spec.Suspend = batchv1.IndexedCompletion, pointer[int32](3), 3, false
		spec.HasSuccessPolicy, spec.ActiveDeadlineSeconds = false, nil
		state := job.Decide(job.State{}.Of("default", "work", "uid-1"), spec, start).Next
		// Three Pods are asked for; whether they exist is not known.

		facts := rapid.SliceOfN(rapid.Custom(drawFact), 1, 12).Draw(t, "facts")
		want := state.Observe(facts)

		shuffled := rapid.Permutation(append(slices.Clone(facts), facts...)).Draw(t, "shuffled")
		cut := rapid.IntRange(0, len(shuffled)).Draw(t, "cut")
		got := state.Observe(shuffled[:cut]).Observe(shuffled[cut:])
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("in another order and twice:\n%+v\nwant\n%+v", got.Pods, want.Pods)
		}
		now := start.Add(time.Minute)
		if got, want := job.Decide(got, spec, now), job.Decide(want, spec, now); !reflect.DeepEqual(got, want) {
			t.Fatalf("the plans differ:\n%+v\nwant\n%+v", got, want)
		}
	})
}

// A State is never changed, only replaced, and survives continue-as-new as it is.
func TestStatesAreValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t).withLedger()
		c.roundTrips, c.reread = false, true
		actions := c.happenings()
		check := actions[""]
		actions[""] = func(t *rapid.T) {
			before, copied := c.state, encode(t, c.state)
			check(t)
			if after := encode(t, before); after != copied {
				t.Fatalf("a State was changed from\n%s\nto\n%s", copied, after)
			}
			var decoded job.State
			if err := json.Unmarshal([]byte(encode(t, c.state)), &decoded); err != nil {
				t.Fatal(err)
			}
			if one, other := job.Decide(c.state, c.spec, c.now), job.Decide(decoded, c.spec, c.now); encode(t, one) != encode(t, other) {
				t.Fatalf("the plan\n%s\nis another after a round trip:\n%s", encode(t, one), encode(t, other))
			}
		}
		t.Repeat(actions)
	})
}

func encode(t fatal, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return string(data)
}
