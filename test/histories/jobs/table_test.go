package jobs

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"
)

func spec(parallelism, completions int32) batchv1.JobSpec {
	return batchv1.JobSpec{Parallelism: &parallelism, Completions: &completions, BackoffLimit: ptr.To[int32](6)}
}

// table are scenarios in which a Pod was lost, counted twice or doubled, or a Job ended in another way, once, or may be.
func table() []scenario {
	failing := spec(3, 3)
	failing.PodFailurePolicy = failsBy(terminated)
	perIndex := indexed(2, 2)
	perIndex.BackoffLimitPerIndex = ptr.To[int32](1)
	succeeding := indexed(10, 10)
	succeeding.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr.To[int32](1)}}}
	late := spec(3, 3)
	late.ActiveDeadlineSeconds, late.PodFailurePolicy = ptr.To[int64](30), failsBy(terminated)
	ending := indexed(2, 6)
	ending.BackoffLimitPerIndex, ending.ActiveDeadlineSeconds = ptr.To[int32](2), ptr.To[int64](21)
	return []scenario{
		{
			Name: "three Pods succeed", Spec: spec(2, 3), Lasts: 2 * time.Minute,
		},
		{
			Name: "a Pod fails", Spec: spec(2, 2), Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 5 * time.Second, Exit: 1}, {Takes: 8 * time.Second}},
		},
		{
			Name: "2: a removal is forgotten, of Pods that match FailJob", Spec: failing, Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 4 * time.Second}},
			Steps:   []step{suspending(20 * time.Second), resuming(50 * time.Second)},
		},
		{
			Name: "2: a removal is begun and forgotten, of Pods that match FailJob, and the Job is resumed meanwhile", Spec: failing, Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 4 * time.Second}},
			Steps:   []step{suspending(20 * time.Second), resuming(23 * time.Second)},
		},
		{
			Name: "3: facts come while the Pods are listed", Spec: spec(14, 14), Lasts: 90 * time.Second, Lists: 1300 * time.Millisecond,
			Courses: every(14, func(n int) course { return course{Takes: time.Duration(9+n) * time.Second, Grace: 2 * time.Second} }),
			Steps:   []step{suspending(11500 * time.Millisecond), resuming(60 * time.Second)},
		},
		{
			Name: "6: the deletes of a success are forgotten", Spec: succeeding, Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 10 * time.Second}, {Takes: 10 * time.Minute, Grace: 4 * time.Second}},
		},
		{
			Name: "6: the deletes of a deadline are forgotten, of Pods that match FailJob", Spec: late, Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 2 * time.Second}},
		},
		{
			Name: "8: a Pod can't be deleted", Spec: spec(5, 5), Lasts: 5 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 2 * time.Second}},
			Steps:   []step{{At: 15 * time.Second, Does: "protect"}, suspending(20 * time.Second), resuming(60 * time.Second)},
			Wants:   []want{{50 * time.Second, 1}, {3 * time.Minute, 5}},
		},
		{
			Name: "13: a removal is begun and forgotten, and the Job is resumed meanwhile", Spec: indexed(1, 1), Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 200 * time.Second, Grace: 2 * time.Second}},
			Steps:   []step{suspending(20 * time.Second), resuming(25 * time.Second)},
		},
		{
			Name: "14: a Pod that is to be removed can't be deleted, that is forgotten, and the Job is resumed", Spec: indexed(1, 1), Lasts: 70 * time.Second,
			Courses: []course{{Takes: 200 * time.Second, Grace: 2 * time.Second}},
			Steps:   []step{{At: 26 * time.Second, Does: "protect"}, suspending(60 * time.Second), {At: 62 * time.Second, Does: "accept"}},
		},
		{
			Name: "15: a suspension is signalled while a Pod is created after a failure", Spec: spec(3, 8), Lasts: 63 * time.Second,
			Courses: []course{
				{Takes: 90 * time.Second, Grace: 2 * time.Second}, {Takes: 20 * time.Second, Grace: 12 * time.Second},
				{Takes: 9 * time.Second, Grace: 2 * time.Second, Exit: 1}, {Takes: 45 * time.Second, Grace: 2 * time.Second},
			},
			Steps: []step{{At: 21 * time.Second, Does: "suspend"}},
		},
		{
			Name: "16: a Pod is created after a failure as the deadline ends", Spec: ending, Lasts: 2 * time.Minute, Watched: 40 * time.Millisecond,
			Courses: []course{{Takes: 8 * time.Second, Grace: 2 * time.Second, Exit: 1}},
		},
		{
			Name: "9: a rebuild meets a failed Pod that is counted and not released", Spec: perIndex, Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 10 * time.Second, Exit: 1}},
			Steps:   []step{{At: 5 * time.Second, Does: "webhook"}, {At: 15 * time.Second, Does: "anew"}, {At: 40 * time.Second, Does: "accept"}},
		},
	}
}

func indexed(parallelism, completions int32) batchv1.JobSpec {
	one := spec(parallelism, completions)
	one.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	return one
}

// failsBy is a policy that fails the Job by an exit code.
func failsBy(code int32) *batchv1.PodFailurePolicy {
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:      batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{code}},
	}}}
}

func every(count int, of func(n int) course) (all []course) {
	for n := range count {
		all = append(all, of(n))
	}
	return all
}
