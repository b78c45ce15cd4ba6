package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
)

// betweenLooks is how many Pods are deleted between two looks at the Job.
const betweenLooks = 2 * parallelRequests

// TerminatePods ends all running Pods of a Job, and lists them then as ListPods does. A repeated
// attempt ends the rest. Now and then it looks whether the Job has been edited.
func (a *Activities) TerminatePods(ctx context.Context, request protocol.TerminatePodsRequest) (protocol.PodList, error) {
	err := errors.Join(bounded(list{"undecided", len(request.Undecided), job.MaxStatePods}, list{"deleting", len(request.Deleting), job.MaxStatePods},
		list{"counted", len(request.Counted), job.MaxCounted}, list{"deletes", len(request.Deletes), job.MaxPods}), job.ValidateStatus(ptr.Deref(request.Status, batchv1.JobStatus{})))
	if err == nil && request.Termination == job.TerminateForVerdict {
		if _, err = request.Verdict.Condition(a.Clock.Now()); err == nil && request.Status == nil {
			err = errors.New("a verdict without the status that it rests on")
		}
	}
	if err == nil && request.Termination != job.TerminateForSuspension && request.Termination != job.TerminateForVerdict {
		err = fmt.Errorf("termination %.20q, want %s or %s", request.Termination, job.TerminateForSuspension, job.TerminateForVerdict)
	}
	if err != nil {
		return protocol.PodList{}, invalidRequest(err)
	}
	ctx, cancel := leavingAnswers(ctx)
	defer cancel()
	owner, answer, done, err := a.jobToTerminate(ctx, request)
	if err != nil || done {
		return answer, err
	}
	// Where the namespace is being deleted, the Pods go before the Job, and none of these has failed by that. A worker that
	// may not read namespaces, which is optional, does not know.
	namespace, err := a.Kubernetes.CoreV1().Namespaces().Get(ctx, owner.Namespace, metav1.GetOptions{})
	if err == nil && namespace.DeletionTimestamp != nil {
		return protocol.PodList{}, a.letGo(ctx, owner)
	}
	census, err := a.takeCensus(ctx, owner, protocol.ListPodsRequest{Job: request.Job, Undecided: request.Undecided})
	if err != nil {
		return protocol.PodList{}, err
	}
	if refuted, err := a.auditVerdict(ctx, owner, request, census.facts); err != nil || refuted != nil {
		return protocol.PodList{Refuted: refuted}, err
	}
	targets := request.Termination.Targets(census.facts, request.Undecided, request.Deleting)
	if len(targets) > 0 && request.Termination == job.TerminateForVerdict {
		if answer, done, err := a.noteVerdict(ctx, owner, request); err != nil || done {
			return answer, err
		}
	}
	answer, done, report, err := a.endPods(ctx, owner, request, targets)
	if err != nil || done {
		return answer, err
	}
	census.facts = terminated(census.facts, targets, report)
	list := census.list()
	list.Failures = report.Failures
	list.List = list.Short(request.Undecided)
	return list, nil
}

// noteVerdict writes the verdict into the Job's status before the first Pod is deleted for it, so that a request that is repeated, of
// whatever workflow, finds it. Where the API server refuses that, the Pods are ended all the same. done says that the Pods stay; answer says
// why.
func (a *Activities) noteVerdict(ctx context.Context, owner *batchv1.Job, request protocol.TerminatePodsRequest) (answer protocol.PodList, done bool, err error) {
	condition, err := request.Verdict.Condition(a.Clock.Now())
	for attempt := 1; err == nil && !job.Decided(owner); attempt++ {
		_, err = write(ctx, func(ctx context.Context) (*batchv1.Job, error) {
			return k8s.AddJobCondition(ctx, a.Kubernetes, owner, condition)
		})
		switch {
		case err == nil, refusal(err) != nil && !apierrors.IsConflict(err):
			return answer, false, nil
		case errors.Is(err, k8s.ErrGone):
			return protocol.PodList{Gone: true}, true, nil
		case !apierrors.IsConflict(err), attempt == statusAttempts:
			return answer, false, outage(err, "note the verdict on Job %s/%s", owner.Namespace, owner.Name)
		}
		owner, answer, done, err = a.jobToTerminate(ctx, request)
		if done {
			return answer, done, err
		}
	}
	return answer, false, err
}

// endPods deletes the Pods, and looks at the Job in between. done says that the rest stay; answer says why. An error means that
// a Pod has no answer: the next attempt lists the Pods, and ends the rest.
func (a *Activities) endPods(
	ctx context.Context, owner *batchv1.Job, request protocol.TerminatePodsRequest, targets []job.Delete,
) (answer protocol.PodList, done bool, report job.Report, err error) {
	events := a.Events.besides(0)
	pace := a.pace(len(targets), 0)
	for rest := targets; len(rest) > 0; {
		some := rest[:min(betweenLooks, len(rest))]
		rest = rest[len(some):]
		found, answered, failure := eachTarget(ctx, some, func(ctx context.Context, target job.Delete) (job.Report, error) {
			if err := pace(ctx); err != nil {
				return job.Report{}, err
			}
			return a.deletePod(ctx, owner, target, true, events)
		})
		report = report.And(found)
		err = cmp.Or(err, failure)
		if !answered {
			break
		}
		if len(rest) > 0 {
			_, late, edited, failure := a.jobToTerminate(ctx, request)
			if failure != nil || edited {
				return late, true, report, failure
			}
		}
	}
	return answer, done, report, err
}

// letGo releases the Pods of a Job whose namespace is being deleted, uncounted: the Job goes when
// no Pod is left. Until then it returns an error, to be tried again.
func (a *Activities) letGo(ctx context.Context, owner *batchv1.Job) error {
	selector, err := claim.Selector(owner)
	if err != nil {
		return outage(err, "list Pods of Job %s/%s", owner.Namespace, owner.Name)
	}
	err = a.eachPod(ctx, owner.Namespace, selector, func(pod *corev1.Pod) func() error {
		if !claim.Tracked(pod) || !a.owns(owner, pod) {
			return nil
		}
		return func() error {
			if _, err := a.releaseUncounted(ctx, pod); err != nil {
				return outage(err, "release Pod %s/%s, whose namespace is being deleted", pod.Namespace, pod.Name)
			}
			return nil
		}
	})
	if err != nil {
		return err
	}
	return outage(errors.New("the namespace is being deleted"), "end Pods of Job %s/%s", owner.Namespace, owner.Name)
}

// releaseUncounted removes the tracking finalizer of a Pod; done is false where the Pod is gone.
func (a *Activities) releaseUncounted(ctx context.Context, pod *corev1.Pod) (done bool, err error) {
	return write(ctx, func(ctx context.Context) (bool, error) {
		return k8s.ReleasePod(ctx, a.Kubernetes, pod.Namespace, pod.Name, pod.UID, claim.Ended(pod))
	})
}

// jobToTerminate reads the Job; done says that the answer is given already.
func (a *Activities) jobToTerminate(ctx context.Context, request protocol.TerminatePodsRequest) (owner *batchv1.Job, answer protocol.PodList, done bool, err error) {
	owner, result, done, err := a.jobFor(ctx, request.Job, live)
	if err == nil && !done {
		done = a.unplanned(owner, protocol.JobRequest{Digest: request.Digest}, &result) || matched(owner, request.Judge, &result)
	}
	if err == nil && !done && request.Termination == job.TerminateForSuspension && !job.SpecOf(owner).Suspend {
		err = invalidRequest(fmt.Errorf("termination for a suspension: Job %s/%s is not suspended", owner.Namespace, owner.Name))
	}
	answer = protocol.PodList{Gone: result.Gone, Foreign: result.Foreign, Unplanned: result.Unplanned, Spec: result.CurrentSpec, Matched: result.Matched}
	return owner, answer, done, err
}

// terminated returns the facts of Pods after some were ended.
func terminated(facts []job.PodFact, targets []job.Delete, report job.Report) []job.PodFact {
	after := make(map[string]*job.PodFact, len(facts))
	for i := range facts {
		after[facts[i].UID] = &facts[i]
	}
	failures := make(map[string]job.PodFailure, len(report.Failures))
	for _, failure := range report.Failures {
		failures[failure.UID] = failure
	}
	for _, target := range targets {
		fact := after[target.UID]
		failure, failed := failures[target.UID]
		if target.Release && (!failed || failure.Released) {
			fact.Tracked, fact.Removed = false, true
		}
		if !failed {
			fact.Deleting, fact.Ready = true, false
		}
	}
	for _, fact := range report.Unexpected {
		*after[fact.UID] = fact
	}
	gone := sets.New(report.Vanished...)
	return slices.DeleteFunc(facts, func(fact job.PodFact) bool { return gone.Has(fact.UID) })
}
