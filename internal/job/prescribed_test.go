package job_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// prescribing is a Job as the API server has it: 3 Pods at a time, 5 in all.
func prescribing(options ...func(*batchv1.Job)) *batchv1.Job {
	object := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hello", UID: "hello-uid"},
		Spec:       batchv1.JobSpec{Parallelism: new(int32(3)), Completions: new(int32(5))},
	}
	for _, option := range options {
		option(object)
	}
	return object
}

func byIndex(object *batchv1.Job) {
	object.Spec.CompletionMode = new(batchv1.IndexedCompletion)
}

// counted sets what the Job's status counts.
func counted(succeeded, failed int32) func(*batchv1.Job) {
	return func(object *batchv1.Job) { object.Status.Succeeded, object.Status.Failed = succeeded, failed }
}

func inCondition(kind batchv1.JobConditionType) func(*batchv1.Job) {
	return func(object *batchv1.Job) {
		object.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: corev1.ConditionTrue}}
	}
}

// attempts are creates without an index.
func attempts(numbers ...int64) []job.Create {
	var creates []job.Create
	for _, number := range numbers {
		creates = append(creates, job.Create{Name: names.Pod("hello", "hello-uid", number), Attempt: number})
	}
	return creates
}

func ofIndex(index int32, attempt int64) job.Create {
	return job.Create{Name: names.IndexedPod("hello", "hello-uid", index, attempt), Attempt: attempt, Index: &index}
}

func TestPrescribed(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	begun := metav1.NewTime(now.Add(-time.Minute))
	active := func(seconds int64) func(*batchv1.Job) {
		return func(object *batchv1.Job) {
			object.Spec.ActiveDeadlineSeconds, object.Status.StartTime = &seconds, &begun
		}
	}
	misnamed := attempts(1)
	misnamed[0].Name = "web-0"
	ofAnother := []job.Create{{Name: names.Pod("hello", "old-uid", 1), Attempt: 1}}
	negative := ofIndex(0, 1)
	negative.Failures = -1
	tests := map[string]struct {
		object  *batchv1.Job
		creates []job.Create
		// count and refusal are what is wanted; refusal is a part of it.
		count   bool
		refusal string
	}{
		"the first Pods":                        {object: prescribing(), creates: attempts(1, 2, 3)},
		"one after another":                     {object: prescribing(counted(1, 2)), creates: attempts(4, 5, 6), count: true},
		"Pods that were not counted between":    {object: prescribing(), creates: attempts(4), count: true},
		"a number beyond those that are to run": {object: prescribing(counted(4, 0)), creates: attempts(2), count: true},
		"an attempt that is counted already":    {object: prescribing(counted(1, 2)), creates: attempts(3)},
		"indexes":                               {object: prescribing(byIndex), creates: []job.Create{ofIndex(0, 1), ofIndex(4, 2)}, count: true},
		"an index again":                        {object: prescribing(byIndex, counted(0, 1)), creates: []job.Create{ofIndex(0, 2)}, count: true},
		"before the deadline":                   {object: prescribing(active(61)), creates: attempts(1), count: true},
		"a work queue":                          {object: prescribing(func(object *batchv1.Job) { object.Spec.Completions = nil }), creates: attempts(1, 2, 3)},
		"a condition that is not true": {object: prescribing(func(object *batchv1.Job) {
			object.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}}
		}), creates: attempts(1), count: true},

		"more than parallelism":          {object: prescribing(), creates: attempts(1, 2, 3, 4), refusal: "3 Pods at a time"},
		"more than are left to complete": {object: prescribing(counted(4, 0)), creates: attempts(5, 6), refusal: "1 Pods at a time"},
		"a work queue that is done with": {object: prescribing(counted(1, 0), func(object *batchv1.Job) { object.Spec.Completions = nil }), creates: attempts(2), refusal: "0 Pods at a time"},
		"no parallelism":                 {object: prescribing(func(object *batchv1.Job) { object.Spec.Parallelism = new(int32(0)) }), creates: attempts(1), refusal: "0 Pods at a time"},
		"suspended":                      {object: prescribing(func(object *batchv1.Job) { object.Spec.Suspend = new(true) }), creates: attempts(1), refusal: "suspended"},
		"stopped": {object: prescribing(func(object *batchv1.Job) {
			object.Annotations = map[string]string{names.StopAnnotation: ""}
		}), creates: attempts(1), refusal: "the Job is stopped"},
		"being deleted":             {object: prescribing(func(object *batchv1.Job) { object.DeletionTimestamp = &begun }), creates: attempts(1), refusal: "being deleted"},
		"complete":                  {object: prescribing(inCondition(batchv1.JobComplete)), creates: attempts(1), refusal: "the Job is Complete"},
		"failed":                    {object: prescribing(inCondition(batchv1.JobFailed)), creates: attempts(1), refusal: "the Job is Failed"},
		"about to fail":             {object: prescribing(inCondition(batchv1.JobFailureTarget)), creates: attempts(1), refusal: "the Job is FailureTarget"},
		"about to complete":         {object: prescribing(inCondition(batchv1.JobSuccessCriteriaMet)), creates: attempts(1), refusal: "the Job is SuccessCriteriaMet"},
		"past the deadline":         {object: prescribing(active(60)), creates: attempts(1), refusal: "activeDeadlineSeconds"},
		"another name":              {object: prescribing(), creates: misnamed, refusal: `"web-0" has not the name of attempt 1`},
		"a name of a Job before":    {object: prescribing(), creates: ofAnother, refusal: "has not the name of attempt 1"},
		"a name twice":              {object: prescribing(), creates: attempts(1, 1), refusal: "created twice"},
		"no attempt":                {object: prescribing(), creates: attempts(0), refusal: "no valid attempt"},
		"a negative attempt":        {object: prescribing(), creates: attempts(-1), refusal: "no valid attempt"},
		"negative failures":         {object: prescribing(byIndex), creates: []job.Create{negative}, refusal: "no valid attempt"},
		"an index of a Job without": {object: prescribing(), creates: []job.Create{ofIndex(0, 1)}, refusal: "has an index"},
		"no index of a Job with":    {object: prescribing(byIndex), creates: attempts(1), refusal: "has an index"},
		"an index beyond":           {object: prescribing(byIndex), creates: []job.Create{ofIndex(5, 1)}, refusal: "index 5 is none"},
		"a negative index":          {object: prescribing(byIndex), creates: []job.Create{{Name: "x", Attempt: 1, Index: new(int32(-1))}}, refusal: "index -1 is none"},
		"a completed index": {object: prescribing(byIndex, func(object *batchv1.Job) { object.Status.CompletedIndexes = "0,2-3" }),
			creates: []job.Create{ofIndex(2, 4)}, refusal: "index 2 is over"},
		"an index of a Job that was scaled down": {object: prescribing(byIndex, counted(5, 0), func(object *batchv1.Job) {
			object.Status.CompletedIndexes = "1-4,7-9"
		}), creates: []job.Create{ofIndex(0, 4)}, count: true},
		"a failed index": {object: prescribing(byIndex, func(object *batchv1.Job) { object.Status.FailedIndexes = new("1") }),
			creates: []job.Create{ofIndex(1, 4)}, refusal: "index 1 is over"},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			count, refusal := job.Prescribed(test.object, test.creates, now)
			if (refusal == "") != (test.refusal == "") || !strings.Contains(refusal, test.refusal) {
				t.Errorf("refusal %q, want %q", refusal, test.refusal)
			}
			if refusal == "" && count != test.count {
				t.Errorf("count %v, want %v", count, test.count)
			}
		})
	}
}

func TestTooMany(t *testing.T) {
	named := func(creates []job.Create) []job.PodFact {
		var list []job.PodFact
		for _, create := range creates {
			list = append(list, job.PodFact{Name: create.Name, Index: create.Index})
		}
		return list
	}
	for name, test := range map[string]struct {
		creates   []job.Create
		running   []job.PodFact
		succeeded int32
		refused   bool
	}{
		"none runs":                          {creates: attempts(7, 8, 9)},
		"as many as there is room for":       {creates: attempts(8, 9), running: named(attempts(1))},
		"those that run are created again":   {creates: attempts(1, 2, 3), running: named(attempts(1, 2, 3))},
		"one more than there is room for":    {creates: attempts(8, 9), running: named(attempts(1, 2)), refused: true},
		"as many as are to succeed":          {creates: attempts(8), running: named(attempts(7)), succeeded: 3},
		"one more than are to succeed":       {creates: attempts(8), running: named(attempts(7)), succeeded: 4, refused: true},
		"another index runs":                 {creates: []job.Create{ofIndex(0, 8)}, running: named([]job.Create{ofIndex(1, 7)})},
		"the index runs under its name":      {creates: []job.Create{ofIndex(1, 7)}, running: named([]job.Create{ofIndex(1, 7)})},
		"the index runs under another name":  {creates: []job.Create{ofIndex(1, 8)}, running: named([]job.Create{ofIndex(1, 7)}), refused: true},
		"an index twice":                     {creates: []job.Create{ofIndex(1, 8), ofIndex(1, 9)}, refused: true},
		"others run already, more than many": {creates: attempts(9), running: named(attempts(1, 2, 3)), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			if refusal := job.TooMany(prescribing(counted(test.succeeded, 0)), test.creates, test.running); (refusal != "") != test.refused {
				t.Errorf("refusal %q", refusal)
			}
		})
	}
}

// TestUncountedCreatesAreBounded: whatever is asked for, however often, what is not counted adds up to no more Pods than may run at a
// time, for as long as the counters of the status are what they are. Who forges these as well makes more, until signatures come.
func TestUncountedCreatesAreBounded(t *testing.T) {
	object := prescribing(counted(1, 2))
	made := map[string]bool{}
	for attempt := range int64(100) {
		if count, refusal := job.Prescribed(object, attempts(attempt+1), time.Now()); refusal == "" && !count {
			made[names.Pod("hello", "hello-uid", attempt+1)] = true
		}
	}
	if len(made) != 3 {
		t.Errorf("%d Pods can be made without counting, want parallelism", len(made))
	}
}
