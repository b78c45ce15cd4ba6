package k8s_test

import (
	"encoding/json"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/schedule"
)

// carried fails the test unless a value can be sent to another process, which reads the same.
func carried[Value any](t *testing.T, value Value) {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%T can't be sent: %v", value, err)
	}
	var read Value
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatalf("%s can't be read: %v", data, err)
	}
}

// FuzzPod reads any Pod: the fact of it can be sent and is valid, and what the informer keeps of the Pod says the same.
func FuzzPod(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"metadata":{"annotations":{"batch.kubernetes.io/job-completion-index":"7","batch.kubernetes.io/job-index-failure-count":"99999999999","ostinato.dev/removed":""}}}`,
		`{"metadata":{"resourceVersion":"-1","deletionTimestamp":"9999-12-31T23:59:59-12:00"},"status":{"phase":"Failed"}}`,
		`{"status":{"phase":"Failed","containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":1,"message":"é","startedAt":"9999-12-31T23:59:59-12:00","finishedAt":"0000-01-01T00:00:00Z"}}}]}}`,
		`{"status":{"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff","message":"x"}}}],"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`,
		`{"status":{"phase":"Running","containerStatuses":[{"restartCount":2147483647,"state":{"running":{"startedAt":null}}},{"restartCount":1}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var pod corev1.Pod
		if json.Unmarshal(data, &pod) != nil {
			return
		}
		pod.Name, pod.Namespace, pod.UID = "x", "default", "y"
		fact := k8s.PodFact(&pod)
		carried(t, fact)
		if len(fact.Message) > 256 || len(fact.PendingMessage) > 256 {
			t.Errorf("messages %q, %q", fact.Message, fact.PendingMessage)
		}
		if _, err := k8s.TrimPod(pod.DeepCopy()); err != nil {
			t.Errorf("trim: %v", err)
		}
	})
}

// FuzzJob reads any Job: what a workflow takes from it can be sent.
func FuzzJob(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"metadata":{"annotations":{"batch.kubernetes.io/cronjob-scheduled-timestamp":"9999-12-31T23:59:59-12:00","ostinato.dev/counted-pods":"a,,b,a"}}}`,
		`{"metadata":{"annotations":{"ostinato.dev/pending-deadline-seconds":"-1","ostinato.dev/backoff-base-seconds":"1e9","ostinato.dev/evidence":"x"}}}`,
		`{"metadata":{"managedFields":[{"manager":"kubectl","subresource":"status","fieldsV1":{"f:status":{"f:succeeded":{},"f:failed":7}}},{"subresource":"status","fieldsV1":[]}]}}`,
		`{"spec":{"completionMode":"Indexed","completions":-1,"parallelism":2147483647,"podFailurePolicy":{"rules":[{}]},"successPolicy":{"rules":[{"succeededIndexes":"5-1"}]}},"status":{"completedIndexes":"1-"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var object batchv1.Job
		if json.Unmarshal(data, &object) != nil {
			return
		}
		carried(t, k8s.ScheduledTime(&object))
		carried(t, k8s.CountedPods(&object))
		k8s.CountersByOthers(&object)
		spec := job.SpecOf(&object)
		carried(t, spec)
		if spec.Digest() != job.SpecOf(&object).Digest() {
			t.Error("the digest is another one each time")
		}
		job.MatchedRule(&object, job.ParseIndexes(object.Status.CompletedIndexes))
	})
}

// FuzzNativeCronJob reads any CronJob of batch/v1: its shape as one of ours can be sent, and its spec has one digest.
func FuzzNativeCronJob(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"metadata":{"annotations":{"ostinato.dev/next-schedule-time":"9999-12-31T23:59:59-12:00","ostinato.dev/observed-generation":"-9"}}}`,
		`{"metadata":{"annotations":{"ostinato.dev/next-schedule-time":"0000-01-01T00:00:00+12:00","ostinato.dev/workflow":"/"}},"status":{"lastScheduleTime":"2026-01-01T00:00:00Z"}}`,
		`{"metadata":{"annotations":{"ostinato.dev/scheduled-time-variable":"A=B","ostinato.dev/workflow":"a"}},"spec":{"schedule":"* * * * *","timeZone":"Etc/UTC"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var native batchv1.CronJob
		if json.Unmarshal(data, &native) != nil {
			return
		}
		native.Status.Active = nil
		cronJob := k8s.FromNative(&native)
		carried(t, cronJob.Status)
		spec := schedule.SpecOf(cronJob)
		carried(t, spec)
		if spec.Digest() != schedule.SpecOf(k8s.FromNative(&native)).Digest() {
			t.Error("the digest is another one each time")
		}
	})
}
