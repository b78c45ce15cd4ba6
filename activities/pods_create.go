package activities

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/protocol"
)

// parallelRequests bounds the requests that one activity has under way.
const parallelRequests = 32

// createPods creates Pods in batches of 1, 2, 4, ... as upstream does (parity 2.10 e), so that a refused template costs
// one request and not hundreds. No batch follows one with a refusal or an error. It returns the Pods that exist, and
// the first refusal: one that a person has to do something about before that of a name that is taken. planned is the
// status that is to be written with the Pods; it may be nil. pace is waited for ahead of each request, and the answers as long
// as their own context lasts. Without an answer to one, an error comes if no Pod was made, else a refusal.
func (a *Activities) createPods(
	ctx, answers context.Context, owner *batchv1.Job, creates []job.Create, planned *batchv1.JobStatus, events *announcer,
	pace func(context.Context) error,
) (created []job.CreatedPod, refused *protocol.Refusal, err error) {
	type outcome struct {
		made    *job.CreatedPod
		refused *protocol.Refusal
	}
	for size, rest := 1, creates; len(rest) > 0 && refused == nil && err == nil; size *= 2 {
		batch := rest[:min(size, len(rest))]
		rest = rest[len(batch):]
		var outcomes []outcome
		outcomes, err = gather(batch, func(create job.Create) (one outcome, err error) {
			if err = pace(ctx); err == nil {
				one.made, one.refused, err = a.createPod(ctx, answers, owner, create, planned, events)
			}
			return one, err
		})
		for _, one := range outcomes {
			if one.made != nil {
				created = append(created, *one.made)
			}
			// That a Pod may be made yet is said before that another was refused.
			unclear := one.refused != nil && one.refused.Reason == ledger.ServerError
			if unclear || one.refused != nil && (refused == nil || refused.Reason == ledger.ForeignObject) {
				refused = one.refused
			}
		}
	}
	if err != nil && len(created) > 0 {
		return created, unclear(err), nil
	}
	return created, refused, err
}

// unclear is the Refusal of a create that may have been carried out.
func unclear(err error) *protocol.Refusal {
	return refuse(ledger.ServerError, "%s", clip.Message(err.Error()))
}

// createPod creates one Pod or finds it made by an earlier attempt.
func (a *Activities) createPod(
	ctx, answers context.Context, owner *batchv1.Job, create job.Create, planned *batchv1.JobStatus, events *announcer,
) (*job.CreatedPod, *protocol.Refusal, error) {
	rendered := k8s.RenderPod(owner, create)
	k8s.LimitEvidence(rendered, a.evidenceOf(ctx, owner.Namespace).level)
	pod, err := a.requestPod(ctx, answers, owner, rendered, func() {
		a.Metrics.countCreate(owner, planned, create, resultSucceeded)
		events.on(jobSubject(owner), event.Normal(event.SuccessfulCreate, "Created pod: "+create.Name))
	})
	switch {
	case err == nil:
		return &job.CreatedPod{Name: pod.Name, UID: string(pod.UID)}, nil, nil
	case apierrors.IsAlreadyExists(err):
		made, err := a.madeBefore(ctx, owner, create.Name)
		switch {
		case err != nil:
			return nil, nil, outage(err, "get Pod %s/%s, whose name is taken", owner.Namespace, create.Name)
		case made == nil:
			refused := refuse(ledger.ForeignObject, "Pod %q exists and is not controlled by Job %q", create.Name, owner.Name)
			a.Metrics.countRefusal("Pod", refused)
			events.on(jobSubject(owner), event.Warning(event.FailedCreate, "Error creating: "+refused.Message))
			return nil, refused, nil
		}
		return made, nil, nil
	}
	var refused *protocol.Refusal
	if concernsOne(err) {
		// It may be an admission webhook that does not answer: the other Pods are worth trying.
		refused = cmp.Or(refusedCreate(err), unclear(err))
	}
	if refused != nil {
		// Quota is judged before the name: the Pod that uses it up may be this one, made by an attempt that got no answer.
		if made, _ := a.madeBefore(ctx, owner, create.Name); made != nil {
			return made, nil, nil
		}
	}
	a.Metrics.countCreate(owner, planned, create, resultFailed)
	// A terminating namespace, as upstream has it, and an API server that was not reached get no Event.
	if answered(err) && (refused == nil || refused.Reason != ledger.NamespaceTerminating) {
		events.on(jobSubject(owner), event.Warning(event.FailedCreate, fmt.Sprintf("Error creating: %v", err)))
	}
	if refused != nil {
		a.Metrics.countRefusal("Pod", refused)
		return nil, refused, nil
	}
	return nil, nil, outage(err, "create Pod %s/%s", owner.Namespace, create.Name)
}

// requestPod creates a Pod, and calls created where it did. The request goes on when the attempt that sent it is over, and
// the next attempt waits for its answer: a create that a client breaks off behind admission uses up quota for minutes
// without a Pod, and no attempt emits the Event of a create that succeeds.
func (a *Activities) requestPod(ctx, answers context.Context, owner *batchv1.Job, pod *corev1.Pod, created func()) (*corev1.Pod, error) {
	answer := a.podRequests.DoChan(fmt.Sprintf("%s/%s/%s", pod.Namespace, owner.UID, pod.Name), func() (any, error) {
		stored, err := write(ctx, func(ctx context.Context) (*corev1.Pod, error) {
			return a.Kubernetes.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: k8s.JobFieldManager})
		})
		if err == nil {
			created()
		}
		return stored, err
	})
	select {
	case <-answers.Done():
		return nil, answers.Err()
	case given := <-answer:
		return given.Val.(*corev1.Pod), given.Err
	}
}

// madeBefore returns the Job's Pod of a name; nil with the error of a read that failed, and where the Pod is another's.
func (a *Activities) madeBefore(ctx context.Context, owner *batchv1.Job, name string) (*job.CreatedPod, error) {
	pod, err := a.Kubernetes.CoreV1().Pods(owner.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || !a.owns(owner, pod) {
		return nil, err
	}
	return createdPod(pod), nil
}

func createdPod(pod *corev1.Pod) *job.CreatedPod {
	fact := k8s.PodFact(pod)
	created := &job.CreatedPod{Name: pod.Name, UID: string(pod.UID), Released: fact.Ended() && !fact.Tracked}
	if fact.Ended() && fact.Tracked {
		created.Ended = &fact
	}
	return created
}

// refuseCreates says why Pods may not be created for the Job as it now is, whatever a plan says; nil when they may. beside are the
// Pods beside which they would be too many: those that run, and those that have succeeded and that the request does not count.
func (a *Activities) refuseCreates(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest) (refused *protocol.Refusal, beside []string, err error) {
	creates := request.Creates
	if len(creates) == 0 {
		return nil, nil, nil
	}
	if unselectable(owner, creates) {
		refused = refuse(ledger.Invalid, "unable to create pods, no labels")
		a.Metrics.countRefusal("Pod", refused)
		a.Events.on(jobSubject(owner), event.Warning(event.FailedCreate, "Error creating: "+refused.Message))
		return refused, nil, nil
	}
	count, why := job.Prescribed(owner, creates, a.Clock.Now())
	if why == "" && count {
		waits := job.SpecOf(owner).PodReplacementPolicy == batchv1.Failed
		beside, err = a.runningIf(ctx, owner, waits, func(running []job.PodFact) bool {
			why = job.TooMany(owner, creates, running)
			return why != ""
		})
		if err == nil && why == "" {
			why, beside, err = a.doneAlready(ctx, owner, request)
		}
	}
	if err != nil || why == "" {
		return nil, nil, err
	}
	return refuse(ledger.NotPrescribed, "%s", why), beside, nil
}

// doneAlready says why creates would do work again that Pods have done which are not counted yet, and returns these. The watch cache may have
// a Pod still that was released: where it has a hindrance, a live list decides.
func (a *Activities) doneAlready(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest) (why string, uids []string, err error) {
	selector, err := claim.Selector(owner)
	if err != nil {
		return "", nil, invalidRequest(err)
	}
	counted := sets.New(k8s.CountedPods(owner)...)
	for _, pod := range request.Counted {
		counted.Insert(pod.UID)
	}
	for _, version := range []string{"0", ""} {
		pods, err := a.Kubernetes.CoreV1().Pods(owner.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: left(owner, selector).String(), FieldSelector: "status.phase=" + string(corev1.PodSucceeded), ResourceVersion: version,
		})
		if err != nil {
			return "", nil, outage(err, "look for successes of Job %s/%s", owner.Namespace, owner.Name)
		}
		var done []job.PodFact
		uids = nil
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Status.Phase == corev1.PodSucceeded && claim.Tracked(pod) && a.owns(owner, pod) && !counted.Has(string(pod.UID)) {
				done, uids = append(done, k8s.PodFact(pod)), append(uids, string(pod.UID))
			}
		}
		why = job.DoneAlready(owner, request.Creates, done)
		if why == "" {
			return "", nil, nil
		}
	}
	return why, uids, nil
}

// runningIf returns the UIDs of the Job's running Pods, with terminating those too that are being deleted, unless these are no hindrance. The watch cache may be behind: where there is
// a hindrance in it, a live list decides. What the workflow is told of gets PodWatch's label, without which its lists do not find it.
func (a *Activities) runningIf(ctx context.Context, owner *batchv1.Job, terminating bool, hinder func([]job.PodFact) bool) (uids []string, err error) {
	var running []*corev1.Pod
	for _, version := range []string{"0", ""} {
		running, err = a.runningPods(ctx, owner, terminating, version)
		var facts []job.PodFact
		for _, pod := range running {
			facts = append(facts, k8s.PodFact(pod))
		}
		if err != nil || !hinder(facts) {
			return nil, err
		}
	}
	return gather(running, func(pod *corev1.Pod) (uid string, err error) {
		verdict := claim.Decide(pod, a.owner(owner))
		if verdict == claim.Label {
			_, err = a.writeVerdict(ctx, verdict, owner, pod)
		}
		return string(pod.UID), err
	})
}

// unselectable reports whether no selector could find the Pods (parity 2.3).
func unselectable(owner *batchv1.Job, creates []job.Create) bool {
	return len(owner.Spec.Template.Labels) == 0 && slices.ContainsFunc(creates, func(create job.Create) bool { return create.Index == nil })
}

// runningPods returns the Job's Pods that can still run, with terminating those too that are being deleted: live, or as the API server's
// watch cache has them if version is "0".
func (a *Activities) runningPods(ctx context.Context, owner *batchv1.Job, terminating bool, version string) (running []*corev1.Pod, _ error) {
	selector, err := claim.Selector(owner)
	if err != nil {
		return nil, invalidRequest(err)
	}
	pods, err := a.Kubernetes.CoreV1().Pods(owner.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector:   selector.String(),
		FieldSelector:   "status.phase!=" + string(corev1.PodSucceeded) + ",status.phase!=" + string(corev1.PodFailed),
		ResourceVersion: version,
	})
	if err != nil {
		return nil, outage(err, "count Pods of Job %s/%s", owner.Namespace, owner.Name)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; (terminating || pod.DeletionTimestamp == nil) && !claim.Ended(pod) && a.owns(owner, pod) {
			running = append(running, pod)
		}
	}
	return running, nil
}

func (a *Activities) specOf(owner *batchv1.Job) job.Spec {
	return job.SpecOf(owner).WithDefaults(a.JobDefaults)
}

func jobSubject(owner *batchv1.Job) subject {
	return aJob(protocol.ObjectReference{Namespace: owner.Namespace, Name: owner.Name, UID: string(owner.UID)})
}

// atOnce waits for nothing.
func atOnce(ctx context.Context) error { return ctx.Err() }
