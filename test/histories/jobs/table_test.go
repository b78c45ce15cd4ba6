package jobs

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
)

func spec(parallelism, completions int32) batchv1.JobSpec {
	return batchv1.JobSpec{Parallelism: &parallelism, Completions: &completions, BackoffLimit: ptr.To[int32](6)}
}

// table are scenarios in which a Pod was lost, counted twice or doubled, or a Job ended in another way, once, or may be.
func table() []scenario {
	ended := spec(3, 3)
	ended.PodFailurePolicy = failsBy(terminated)
	failing42 := spec(2, 2)
	failing42.PodFailurePolicy = failsBy(42)
	ignoring := spec(5, 1)
	ignoring.PodFailurePolicy = failsBy(42)
	ignoring.PodFailurePolicy.Rules[0].Action = batchv1.PodFailurePolicyActionIgnore
	perIndex := indexed(2, 2)
	perIndex.BackoffLimitPerIndex = ptr.To[int32](1)
	succeeding := indexed(10, 10)
	succeeding.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr.To[int32](1)}}}
	ruled := indexed(2, 2)
	ruled.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededIndexes: ptr.To("0")}}}
	late := spec(3, 3)
	late.ActiveDeadlineSeconds, late.PodFailurePolicy = ptr.To[int64](30), failsBy(terminated)
	unclear := spec(1, 1)
	unclear.ActiveDeadlineSeconds = ptr.To[int64](200)
	moved := spec(1, 1)
	moved.ActiveDeadlineSeconds = ptr.To[int64](30)
	once := spec(1, 1)
	once.BackoffLimit = ptr.To[int32](1)
	limited := spec(2, 2)
	limited.BackoffLimit = ptr.To[int32](0)
	failsAll := indexed(2, 2)
	failsAll.BackoffLimitPerIndex, failsAll.PodFailurePolicy = ptr.To[int32](2), failsBy(42)
	queue := spec(2, 2)
	queue.Completions, queue.PodReplacementPolicy = nil, ptr.To(batchv1.Failed)
	deleted := spec(1, 2)
	deleted.BackoffLimit, deleted.PodReplacementPolicy = ptr.To[int32](1), ptr.To(batchv1.Failed)
	waiting := spec(1, 2)
	waiting.PodReplacementPolicy = ptr.To(batchv1.Failed)
	ending := indexed(2, 6)
	ending.BackoffLimitPerIndex, ending.ActiveDeadlineSeconds = ptr.To[int32](2), ptr.To[int64](21)
	lied := []scenario{
		lying("a failure that ends the Job", limited, failing(1)),
		lying("an exit code that ends the Job", failing42, failing(42)),
		lying("a success that ends the Job", succeeding, job.PodFact{Phase: corev1.PodSucceeded}),
		lying("a Pod that is being deleted, of a work queue", queue, job.PodFact{Deleting: true}),
		lying("a Pod that is gone and was removed", spec(1, 1), job.PodFact{Gone: true, Removed: true}),
		lying("a Pod that was removed", spec(1, 1), job.PodFact{Removed: true}),
		lying("a Pod of another's", spec(1, 1), job.PodFact{Disowned: true}),
		lying("a Pod without the finalizer", spec(1, 1), job.PodFact{Phase: corev1.PodRunning}),
	}
	return append(lied, []scenario{
		{
			Name: "lie: a failure long ago that is ignored", Spec: ignoring, Lasts: time.Minute, Courses: []course{{Takes: 30 * time.Second, Grace: 5 * time.Second}},
			Steps: []step{{At: 5 * time.Second, Does: "lie", Lie: longAgo(failing(42))}},
		},
		{
			Name: "lie: a Pod that is being deleted is gone", Spec: deleted, Lasts: time.Minute,
			Courses: []course{{Takes: 50 * time.Second, Grace: 10 * time.Second}, {Takes: 30 * time.Second, Grace: 2 * time.Second}},
			Steps:   []step{{At: 5 * time.Second, Does: "delete"}, {At: 8 * time.Second, Does: "lie", Lie: job.PodFact{Gone: true}}},
		},
		{
			Name: "lie: a Pod that was removed is gone, and its replacement is to wait for that", Spec: waiting, Lasts: 90 * time.Second,
			Courses: []course{{Takes: 80 * time.Second, Grace: 30 * time.Second}, {Takes: 30 * time.Second, Grace: 2 * time.Second}},
			Steps: []step{
				suspending(5 * time.Second), {At: 10 * time.Second, Does: "lie", Lie: job.PodFact{Gone: true}},
				{At: 11 * time.Second, Does: "lie", Lie: job.PodFact{Gone: true}}, resuming(13 * time.Second),
				{At: 16 * time.Second, Does: "lie", Lie: job.PodFact{Gone: true}},
			},
		},
		{
			Name: "lie: a Pod that has succeeded, which no watch has told, is gone", Spec: spec(2, 3), Lasts: 90 * time.Second,
			Courses: []course{{Takes: 20 * time.Second, Grace: 2 * time.Second}, {Takes: 20 * time.Second, Grace: 2 * time.Second}, {Takes: 60 * time.Second, Grace: 2 * time.Second}},
			Steps: []step{
				{At: 10 * time.Second, Does: "unwatched"}, {At: 25 * time.Second, Does: "lie", Lie: job.PodFact{Gone: true, Phase: corev1.PodSucceeded}},
				{At: 27 * time.Second, Does: "lie", Lie: job.PodFact{Phase: corev1.PodSucceeded}, Of: 2}, {At: 29 * time.Second, Does: "watched"},
			},
		},
		{
			Name: "lie: a success that meets a rule, before one that meets none", Spec: ruled, Lasts: 3 * time.Minute,
			Courses: []course{
				{Takes: 30 * time.Second, Grace: 2 * time.Second}, {Takes: 60 * time.Second, Grace: 2 * time.Second, Exit: 1}, {Takes: 20 * time.Second},
			},
			Steps: []step{{At: 5 * time.Second, Does: "delete"}, {At: 25 * time.Second, Does: "lie", Lie: job.PodFact{Phase: corev1.PodSucceeded}}},
		},
		{
			Name: "three Pods succeed", Spec: spec(2, 3), Lasts: 2 * time.Minute,
		},
		{
			Name: "a Pod fails", Spec: spec(2, 2), Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 5 * time.Second, Exit: 1}, {Takes: 8 * time.Second}},
		},
		{
			Name: "2: a removal is forgotten, of Pods that match FailJob", Spec: ended, Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 4 * time.Second}},
			Steps:   []step{suspending(20 * time.Second), resuming(50 * time.Second)},
		},
		{
			Name: "2: a removal is begun and forgotten, of Pods that match FailJob, and the Job is resumed meanwhile", Spec: ended, Lasts: 3 * time.Minute,
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
			Name: "17: the first Pod may land, and the Job is edited before the watch starts its workflow", Spec: unclear, Lasts: 2 * time.Minute,
			Watched: 900 * time.Millisecond, Starts: time.Second, Courses: []course{{Takes: 10 * time.Minute, Grace: 2 * time.Second}},
			Steps: []step{{Does: "late"}, {At: time.Second, Does: "accept"}, bounded(time.Second, 5)},
		},
		{
			Name: "18: a deadline ends without a Pod, no status is taken, and the deadline is moved", Spec: moved, Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 10 * time.Second, Exit: 1}, {Takes: 20 * time.Second}},
			Steps: []step{
				{At: 5 * time.Second, Does: "quota"}, {At: 20 * time.Second, Does: "statuses"}, bounded(40*time.Second, 100_000),
				{At: 45 * time.Second, Does: "accept"},
			},
		},
		{
			Name: "forged: a status without Pods", Spec: spec(2, 2), Lasts: 2 * time.Minute, Courses: []course{{Takes: 90 * time.Second}},
			Steps: []step{{At: 10 * time.Second, Does: "forge", Forgery: forgery{Active: -2}}},
		},
		{
			Name: "forged: one failure counts twice", Spec: once, Lasts: time.Minute, Courses: []course{{Takes: 20 * time.Second, Exit: 1}, {Takes: 20 * time.Second}},
			Steps: []step{
				{At: 15 * time.Second, Does: "webhook"}, {At: 24 * time.Second, Does: "forge"},
				{At: 25 * time.Second, Does: "forge", Forgery: forgery{Failed: 1, Pods: 1, Fate: job.PodFailed}},
				{At: 40 * time.Second, Does: "accept"},
			},
		},
		{
			Name: "forged: a success is let go uncounted", Spec: spec(1, 2), Lasts: time.Minute, Courses: []course{{Takes: 20 * time.Second}},
			Steps: []step{
				{At: 10 * time.Second, Does: "unwatched"}, {At: 40 * time.Second, Does: "watched"},
				{At: 30 * time.Second, Does: "forge", Forgery: forgery{Pods: 1, Fate: job.PodUncounted, Releases: true}},
			},
		},
		{
			Name: "forged: Pods are to be counted that never were", Spec: spec(1, 2), Lasts: time.Minute, Courses: []course{{Takes: 20 * time.Second}},
			Steps: []step{{At: 10 * time.Second, Does: "forge", Forgery: forgery{Notes: 2, Fate: job.PodSucceeded}}},
		},
		{
			Name: "forged: Pods are gone that never were", Spec: limited, Lasts: time.Minute, Courses: []course{{Takes: 30 * time.Second}},
			Steps: []step{
				{At: 10 * time.Second, Does: "forge", Forgery: forgery{Terminating: 7}},
				{At: 11 * time.Second, Does: "forge", Forgery: forgery{Failed: 1, Pods: 1, Of: -1, Fate: job.PodFailed}},
			},
		},
		{
			Name: "forged: a Pod of a Job that was just resumed", Spec: spec(2, 2), Lasts: time.Minute, Courses: []course{{Takes: 9 * time.Second}},
			Steps: []step{suspending(0), {At: 10 * time.Second, Does: "statuses"}, {At: 10500 * time.Millisecond, Does: "resume"},
				{At: 10600 * time.Millisecond, Does: "forge", Forgery: forgery{Creates: 3}}, {At: 12 * time.Second, Does: "accept"}},
		},
		{
			Name: "forged: the work of an index that has succeeded, and is not counted", Spec: indexed(1, 2), Lasts: 2 * time.Minute,
			Watched: 40 * time.Millisecond, Starts: -1, Courses: []course{{Takes: 8 * time.Second}, {Takes: 45 * time.Second}},
			Steps: []step{{At: 12 * time.Second, Does: "forge", Forgery: forgery{Creates: 2}}},
		},
		{
			Name: "forged: a Pod is made while the status that fails the Job is refused", Spec: failsAll, Lasts: time.Minute,
			Courses: []course{{Takes: 37 * time.Second, Exit: 42}, {Takes: 45 * time.Second}},
			Steps: []step{
				{At: 22 * time.Second, Does: "statuses"}, {At: 43 * time.Second, Does: "forge", Forgery: forgery{Creates: 2}}, {At: 48 * time.Second, Does: "accept"},
			},
		},
		{
			Name: "a work queue ends while a crash cuts off the removal of a Pod", Spec: queue, Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 90 * time.Second, Grace: 2 * time.Second}, {Takes: 9 * time.Second}},
			Steps:   []step{{At: 2 * time.Second, Does: "suspend"}, suspending(9 * time.Second)},
		},
		{
			Name: "forged: a Job that has failed counts a Pod again", Spec: limited, Lasts: time.Minute, Courses: []course{{Takes: 20 * time.Second, Exit: 1}},
			Steps: []step{{At: 50 * time.Second, Does: "forge", Forgery: forgery{Failed: 1, Pods: 1, Fate: job.PodFailed}}},
		},
		{
			Name: "stopped: Pods that run, of a Job that fails by how they end", Spec: ended, Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 4 * time.Second}}, Steps: []step{stopped(20 * time.Second)},
		},
		{
			Name: "stopped: by signal", Spec: spec(3, 3), Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 4 * time.Second}}, Steps: []step{{At: 20 * time.Second, Does: "stop"}},
			Wants: []want{{50 * time.Second, 0}},
		},
		{
			Name: "stopped: before the watch makes its first Pods", Spec: spec(2, 2), Lasts: 2 * time.Minute, Watched: 4 * time.Second,
			Courses: []course{{Takes: 10 * time.Minute}}, Steps: []step{stopped(time.Second)},
		},
		{
			Name: "stopped: between its first Pods and its workflow", Spec: spec(2, 2), Lasts: 3 * time.Minute, Watched: 40 * time.Millisecond,
			Starts: 4 * time.Second, Courses: []course{{Takes: 10 * time.Minute, Grace: 2 * time.Second}}, Steps: []step{stopped(2 * time.Second)},
		},
		{
			Name: "stopped: as its last Pods succeed", Spec: spec(2, 2), Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 20 * time.Second}}, Steps: []step{stopped(startsAfter + 20*time.Second)},
		},
		{
			Name: "stopped: while the Pods of a suspension end", Spec: spec(2, 2), Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 12 * time.Second}}, Steps: []step{suspending(20 * time.Second), stopped(25 * time.Second)},
		},
		{
			Name: "stopped: while it is suspended", Spec: indexed(2, 2), Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 2 * time.Second}}, Steps: []step{suspending(20 * time.Second), stopped(50 * time.Second)},
		},
		{
			Name: "stopped: while an outage leaves it without an answer", Spec: spec(2, 2), Lasts: 4 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 2 * time.Second}},
			Steps:   []step{{At: 19 * time.Second, Does: "outage"}, {At: 20 * time.Second, Does: "stop"}, {At: 90 * time.Second, Does: "accept"}},
			Wants:   []want{{3 * time.Minute, 0}},
		},
		{
			Name: "stopped: and taken back while its Pods end", Spec: spec(2, 2), Lasts: 2 * time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 12 * time.Second}}, Steps: []step{stopped(20 * time.Second), {At: 25 * time.Second, Does: "go on"}},
		},
		{
			Name: "stopped: when it is over", Spec: spec(1, 1), Lasts: 2 * time.Minute, Courses: []course{{Takes: 20 * time.Second}},
			Steps: []step{stopped(60 * time.Second)},
		},
		{
			Name: "forged: a stopped Job fails for another reason", Spec: limited, Lasts: time.Minute,
			Courses: []course{{Takes: 10 * time.Minute, Grace: 12 * time.Second}},
			Steps: []step{stopped(10 * time.Second), {
				At: 23*time.Second + 500*time.Millisecond, Does: "forge",
				Forgery: forgery{Failed: 2, Ends: []batchv1.JobConditionType{batchv1.JobFailed}, Reason: batchv1.JobReasonBackoffLimitExceeded},
			}},
		},
		{
			Name: "forged: a stop that the Job does not have", Spec: spec(2, 2), Lasts: time.Minute, Courses: []course{{Takes: 40 * time.Second}},
			Steps: []step{
				{At: 10 * time.Second, Does: "forge", Forgery: forgery{Terminates: true, Active: 2, Ends: []batchv1.JobConditionType{batchv1.JobFailureTarget}, Reason: event.Stopped}},
				{At: 12 * time.Second, Does: "forge", Forgery: forgery{Active: 2, Ends: []batchv1.JobConditionType{batchv1.JobFailureTarget}, Reason: event.Stopped}},
			},
			Wants: []want{{30 * time.Second, 2}},
		},
		{
			Name: "9: a rebuild meets a failed Pod that is counted and not released", Spec: perIndex, Lasts: 3 * time.Minute,
			Courses: []course{{Takes: 10 * time.Second, Exit: 1}},
			Steps:   []step{{At: 5 * time.Second, Does: "webhook"}, {At: 15 * time.Second, Does: "anew"}, {At: 40 * time.Second, Does: "accept"}},
		},
	}...)
}

// lying is a scenario in which a stranger says something of a Pod that runs, and the Pods run on as if he had not.
func lying(name string, of batchv1.JobSpec, lie job.PodFact) scenario {
	return scenario{
		Name: "lie: " + name, Spec: of, Lasts: 2 * time.Minute,
		Courses: []course{{Takes: 30 * time.Second, Grace: 2 * time.Second}, {Takes: 50 * time.Second, Grace: 2 * time.Second}},
		Steps:   []step{{At: 10 * time.Second, Does: "lie", Lie: lie}},
		Wants:   []want{{25 * time.Second, int(*of.Parallelism)}},
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
