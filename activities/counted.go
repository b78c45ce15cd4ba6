package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// audit compares a status with the Pods that it counts, before anything of the request is carried out: a signal, or the request
// itself, may have made them up. What the Job notes was seen before. done says that something is not so, which the report names.
func (a *Activities) audit(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest) (report job.Report, done bool, err error) {
	if request.Status == nil {
		return report, false, nil
	}
	if claim.Finished(owner) != nil {
		// The status that ends a Job is its last one. An earlier attempt may have written it, and released the Pods; it notes none.
		if !k8s.HasJobStatus(owner, request.Status) {
			report.Unfounded = "the Job has ended"
		}
		return report, report.Unfounded != "", nil
	}
	noted := sets.New(k8s.CountedPods(owner)...)
	fresh := slices.DeleteFunc(slices.Clone(request.Counted), func(pod job.Counted) bool { return noted.Has(pod.UID) })
	seen, unseen, err := a.seeCounted(ctx, owner, request, fresh)
	if report.Unseen = unseen; err != nil || len(unseen) > 0 {
		return report, true, err
	}
	report.Unfounded = job.Unfounded(owner, *request.Status, fresh, seen)
	if k8s.NotesAll(owner) {
		report.Unfounded = cmp.Or(report.Unfounded, job.Forgotten(owner, *request.Status, fresh, seen))
	}
	if job.StartsEarly(owner, *request.Status, a.Clock.Now()) {
		report.Unfounded = cmp.Or(report.Unfounded, fmt.Sprintf("the Job did not start at %s", request.Status.StartTime))
	}
	if report.Unfounded == "" && job.SaysMore(owner, *request.Status, len(request.Creates)) {
		there := len(request.Creates)
		err = a.eachLeft(ctx, owner, func(pod *corev1.Pod) {
			if claim.Tracked(pod) || !claim.Ended(pod) {
				there++
			}
		})
		if known := job.Known(*request.Status); err == nil && known > there {
			report.Unfounded = fmt.Sprintf("%d Pods are active or terminate, and there are %d", known, there)
		}
	}
	none := job.SaysNone(owner, *request.Status, fresh, seen)
	if err == nil && report.Unfounded == "" && (none || job.EndsQueue(owner, *request.Status)) {
		// A Pod that was let go to be removed does no more of the queue's work.
		report.Unseen, err = a.runningIf(ctx, owner, none, func(running []job.PodFact) bool {
			return slices.ContainsFunc(running, func(fact job.PodFact) bool { return none || fact.Tracked || !fact.Removed })
		})
	}
	return report, report.Unfounded != "" || len(report.Unseen) > 0, err
}

// auditFailure compares a verdict of failure that the Job does not have yet with what it rests on: the status, which was audited, or the
// Pods that are left. refuted says that the Job does not fail for it, and the report why.
func (a *Activities) auditFailure(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest) (report job.Report, refuted bool, err error) {
	reason, fails := job.FailureReason(ptr.Deref(request.Status, batchv1.JobStatus{}))
	if !fails || job.Decided(owner) {
		return report, false, nil
	}
	until := a.Clock.Now().Add(clockSkew)
	if job.UnfoundedVerdict(owner, *request.Status, reason, nil, until) == "" {
		return report, false, nil
	}
	var left []job.PodFact
	if err := a.eachLeft(ctx, owner, func(pod *corev1.Pod) { left = append(left, k8s.PodFact(pod)) }); err != nil {
		return report, false, err
	}
	report.NoReason = job.UnfoundedVerdict(owner, *request.Status, reason, left, until)
	return report, report.NoReason != "", nil
}

// clockSkew is how far a worker's clock may be behind.
const clockSkew = time.Minute

// auditVerdict compares a verdict with the Pods that it rests on, before any is deleted for it: nil if it is as the request says. One
// that the Job's status has stands: Pods were ended for it, and what it rests on may be gone.
func (a *Activities) auditVerdict(ctx context.Context, owner *batchv1.Job, request protocol.TerminatePodsRequest, pods []job.PodFact) (*job.Report, error) {
	if request.Termination != job.TerminateForVerdict || job.Decided(owner) {
		return nil, nil
	}
	report, done, err := a.audit(ctx, owner, protocol.JobRequest{Job: request.Job, Status: request.Status, Counted: request.Counted, Deletes: request.Deletes})
	if err != nil || done {
		return &report, err
	}
	report.NoReason = cmp.Or(job.UnfoundedVerdict(owner, *request.Status, request.Verdict.Reason, pods, a.Clock.Now().Add(clockSkew)),
		job.Misquoted(owner, request.Verdict))
	if request.Verdict.Reason == batchv1.JobReasonCompletionsReached {
		report.NoReason = "no Pod is ended for " + request.Verdict.Reason
	}
	if report.NoReason == "" {
		return nil, nil
	}
	return &report, nil
}

// seeCounted looks at the Pods that a status counts, and again, live, at those that the watch cache has otherwise. unseen are those
// that are not as they are counted. Pods that are gone have been there as far as the status knew more than there are.
func (a *Activities) seeCounted(
	ctx context.Context, owner *batchv1.Job, request protocol.JobRequest, counted []job.Counted,
) (seen map[string]job.PodFact, unseen []string, err error) {
	seen, doubted := map[string]job.PodFact{}, slices.Clone(counted)
	for _, fresh := range []freshness{cached, live} {
		if err := a.lookAt(ctx, owner, doubted, fresh, seen); err != nil {
			return nil, nil, err
		}
		doubted = slices.DeleteFunc(doubted, func(one job.Counted) bool {
			fact, there := seen[one.UID]
			deleted := slices.ContainsFunc(request.Deletes, func(target job.Delete) bool { return target.UID == one.UID })
			return there && one.Shown(owner, fact, deleted)
		})
	}
	var gone []string
	for _, one := range doubted {
		_, there := seen[one.UID]
		switch {
		case there, one.Fate == job.PodSucceeded:
			unseen = append(unseen, one.UID)
		default:
			gone = append(gone, one.UID)
		}
	}
	if len(gone) > 0 {
		rest, noted := 0, sets.New(k8s.CountedPods(owner)...)
		err := a.eachLeft(ctx, owner, func(pod *corev1.Pod) {
			if !noted.Has(string(pod.UID)) && (claim.Tracked(pod) || !claim.Ended(pod)) {
				rest++
			}
		})
		if err != nil || len(gone) > job.Known(owner.Status)-rest {
			return nil, append(unseen, gone...), err
		}
	}
	return seen, unseen, nil
}

// lookAt notes in seen how Pods are that a status counts, by name or, where they are many, by one list. In the watch cache this leaves
// out what runs, unless that counts as terminating; live, what it lacks is looked at by name, since it may have been released. A Pod
// that is not the Job's is disowned; one that is gone is not in seen.
func (a *Activities) lookAt(ctx context.Context, owner *batchv1.Job, counted []job.Counted, fresh freshness, seen map[string]job.PodFact) error {
	many, terminating := job.Bulk(0, len(counted)), false
	for _, one := range counted {
		delete(seen, one.UID)
		terminating = terminating || one.Fate == job.Undecided
	}
	see := func(pod *corev1.Pod) {
		fact := job.PodFact{Disowned: true}
		if a.owns(owner, pod) {
			fact = k8s.PodFact(pod)
		}
		seen[string(pod.UID)] = fact
	}
	if many && (fresh == live || terminating) {
		err := a.eachLeft(ctx, owner, see)
		if err != nil {
			return err
		}
	}
	switch {
	case fresh == live:
		var unmet []job.PodName
		for _, one := range counted {
			_, there := seen[one.UID]
			if !there {
				unmet = append(unmet, job.PodName{Name: one.Name, UID: one.UID})
			}
		}
		var mutex sync.Mutex
		return a.lookByName(ctx, owner, unmet, func(pod *corev1.Pod) func() error {
			mutex.Lock()
			defer mutex.Unlock()
			see(pod)
			return nil
		})
	case !many:
		pods, err := gather(counted, func(one job.Counted) (*corev1.Pod, error) {
			pod, err := k8s.GetPod(ctx, a.Kubernetes, owner.Namespace, one.Name, types.UID(one.UID))
			if err != nil && !errors.Is(err, k8s.ErrGone) {
				return nil, outage(err, "get Pod %s/%s, which a status counts", owner.Namespace, one.Name)
			}
			return pod, nil
		})
		for _, pod := range pods {
			if pod != nil {
				see(pod)
			}
		}
		return err
	case terminating:
		return nil
	}
	selector, err := claim.Selector(owner)
	if err != nil {
		return invalidRequest(err)
	}
	pods, err := a.Kubernetes.CoreV1().Pods(owner.Namespace).List(ctx, metav1.ListOptions{
		ResourceVersion: "0", LabelSelector: left(owner, selector).String(), FieldSelector: "status.phase!=Pending,status.phase!=Running",
	})
	if err != nil {
		return outage(err, "list Pods of Job %s/%s, which a status counts", owner.Namespace, owner.Name)
	}
	for i := range pods.Items {
		see(&pods.Items[i])
	}
	return nil
}

// eachLeft calls see with each Pod of the Job that was not released.
func (a *Activities) eachLeft(ctx context.Context, owner *batchv1.Job, see func(*corev1.Pod)) error {
	selector, err := claim.Selector(owner)
	if err != nil {
		return invalidRequest(err)
	}
	return a.eachPod(ctx, owner.Namespace, left(owner, selector), func(pod *corev1.Pod) func() error {
		if a.owns(owner, pod) {
			see(pod)
		}
		return nil
	})
}

// maxReleased is how many Pods a Job may note that were released: more are looked at.
const maxReleased = 100

// noting returns the Pods to note on the Job with a status: first the Pods that the request counts, then the Pods that the Job notes already,
// unless they are known to be released. Without its note a Pod would be counted once more.
func (a *Activities) noting(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest) ([]job.Counted, error) {
	named := sets.New[string]()
	for _, pod := range request.Counted {
		named.Insert(pod.UID)
	}
	kept := slices.DeleteFunc(k8s.CountedPods(owner), named.Has)
	if len(kept) > maxReleased {
		tracked := sets.New[string]()
		err := a.eachLeft(ctx, owner, func(pod *corev1.Pod) {
			if claim.Tracked(pod) {
				tracked.Insert(string(pod.UID))
			}
		})
		if err != nil {
			return nil, err
		}
		kept = slices.DeleteFunc(kept, func(uid string) bool { return !tracked.Has(uid) })
	}
	var noted []job.Counted
	for _, uid := range kept {
		noted = append(noted, job.Counted{UID: uid, Fate: job.PodUncounted})
	}
	return append(noted, request.Counted...), nil
}

// mayRelease returns what says whether a Pod may be released: the Job notes that it is counted, by this request or an earlier one, or
// takes in no counts any more.
func mayRelease(owner *batchv1.Job, request protocol.JobRequest) func(uid string) bool {
	if job.Over(owner, request.Status) {
		return func(string) bool { return true }
	}
	counted := sets.New(k8s.CountedPods(owner)...)
	if request.Status != nil {
		for _, pod := range request.Counted {
			if pod.Fate != job.Undecided {
				counted.Insert(pod.UID)
			}
		}
	}
	return counted.Has
}
