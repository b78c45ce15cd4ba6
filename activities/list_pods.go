package activities

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// ListPods lists the Pods of a Job that are of interest: those that can still run,
// those that ended and were not released, and those that the request asks for, in
// the order of their names. Pods without a controller that match the Job's selector
// are adopted, Pods that PodWatch can't see get its label, and Pods that are the
// Job's no more are let go and listed as disowned (parity 2.13).
//
// The list is read in pages, and only facts are kept, so that a Job may have had any
// number of Pods.
func (a *Activities) ListPods(ctx context.Context, request protocol.ListPodsRequest) (protocol.PodList, error) {
	owner, err := k8s.GetJob(ctx, a.Kubernetes, request.Job.Namespace, request.Job.Name, types.UID(request.Job.UID))
	switch {
	case errors.Is(err, k8s.ErrGone):
		return protocol.PodList{Gone: true}, nil
	case err != nil:
		return protocol.PodList{}, outage(err, "get Job %s/%s", request.Job.Namespace, request.Job.Name)
	}
	selector, err := k8s.PodSelector(owner)
	if err != nil {
		return protocol.PodList{}, outage(err, "list Pods of Job %s/%s", request.Job.Namespace, request.Job.Name)
	}
	census := newCensus(a, owner, selector, request)
	if err := a.eachPod(ctx, request.Job.Namespace, selector, census.look(ctx)); err != nil {
		return protocol.PodList{}, err
	}
	if len(census.undecided) > 0 {
		// They are gone, or their labels were changed: only a look at all Pods of the
		// namespace tells.
		if err := a.eachPod(ctx, request.Job.Namespace, labels.Everything(), census.seek(ctx)); err != nil {
			return protocol.PodList{}, err
		}
	}
	return census.list(), nil
}

// census takes stock of the Pods of a Job.
type census struct {
	*Activities
	owner    *batchv1.Job
	selector labels.Selector
	rebuild  bool

	mutex sync.Mutex
	// undecided are the UIDs whose Pods were not met yet.
	undecided map[string]bool
	facts     []job.PodFact
	// failed is the Pod that tells most of the failures of an index, of those that
	// were released.
	failed   map[int32]job.PodFact
	attempts int64
}

func newCensus(a *Activities, owner *batchv1.Job, selector labels.Selector, request protocol.ListPodsRequest) *census {
	c := &census{
		Activities: a, owner: owner, selector: selector, rebuild: request.Rebuild,
		undecided: make(map[string]bool, len(request.Undecided)), failed: map[int32]job.PodFact{},
	}
	for _, uid := range request.Undecided {
		c.undecided[uid] = true
	}
	return c
}

// look takes the Pods that match the Job's selector.
func (c *census) look(ctx context.Context) func(*corev1.Pod) func() error {
	adoptable := sync.OnceValues(func() (bool, error) { return c.adoptable(ctx) })
	return func(pod *corev1.Pod) func() error {
		asked := c.met(pod)
		switch controller := metav1.GetControllerOfNoCopy(pod); {
		case controller == nil && pod.DeletionTimestamp == nil:
			return func() error { return c.adopt(ctx, pod, asked, adoptable) }
		case controller == nil:
			return c.leave(ctx, pod, asked)
		case controller.UID != c.owner.UID:
			if asked {
				c.add(disowned(pod))
			}
			return nil
		}
		if !k8s.MadeElsewhere(pod) {
			if attempt, ok := names.PodAttempt(c.owner.Name, string(c.owner.UID), pod.Name); ok {
				c.attempts = max(c.attempts, attempt)
			}
		}
		fact := k8s.PodFact(pod)
		if fact.Ended() && !fact.Tracked {
			c.ended(fact, asked)
			return nil
		}
		c.add(fact)
		if pod.Labels[names.WatchBucketLabel] != names.WatchBucket(string(c.owner.UID)) {
			return func() error {
				if _, err := k8s.LabelPod(ctx, c.Kubernetes, c.owner.UID, pod); err != nil {
					return outage(err, "label Pod %s/%s", pod.Namespace, pod.Name)
				}
				return nil
			}
		}
		return nil
	}
}

// seek takes the Pods that don't match the Job's selector.
func (c *census) seek(ctx context.Context) func(*corev1.Pod) func() error {
	return func(pod *corev1.Pod) func() error {
		if c.selector.Matches(labels.Set(pod.Labels)) {
			return nil
		}
		asked := c.met(pod)
		controlled := metav1.IsControlledBy(pod, c.owner)
		switch {
		case controlled && c.owner.DeletionTimestamp != nil:
			// A Job that is being deleted lets go of nothing, as upstream.
			c.add(k8s.PodFact(pod))
			return nil
		case controlled:
			c.add(disowned(pod))
			return func() error {
				if err := k8s.DisownPod(ctx, c.Kubernetes, c.owner.UID, pod); err != nil {
					return outage(err, "let go of Pod %s/%s", pod.Namespace, pod.Name)
				}
				return nil
			}
		case asked && metav1.GetControllerOfNoCopy(pod) == nil:
			return c.leave(ctx, pod, asked)
		case asked:
			c.add(disowned(pod))
		}
		return nil
	}
}

// met reports whether the Pod was asked for, once.
func (c *census) met(pod *corev1.Pod) bool {
	asked := c.undecided[string(pod.UID)]
	delete(c.undecided, string(pod.UID))
	return asked
}

// adoptable reports whether the Job may adopt Pods, by a read of its own: the Job
// may have been deleted since the Pods were listed (parity 2.13).
func (c *census) adoptable(ctx context.Context) (bool, error) {
	if !k8s.Managed(c.owner, c.TakeOverJobs) || !k8s.Adoptable(c.owner) {
		return false, nil
	}
	fresh, err := k8s.GetJob(ctx, c.Kubernetes, c.owner.Namespace, c.owner.Name, c.owner.UID)
	switch {
	case errors.Is(err, k8s.ErrGone):
		return false, nil
	case err != nil:
		return false, outage(err, "get Job %s/%s, which is to adopt Pods", c.owner.Namespace, c.owner.Name)
	}
	return k8s.Adoptable(fresh), nil
}

func (c *census) adopt(ctx context.Context, pod *corev1.Pod, asked bool, adoptable func() (bool, error)) error {
	ok, err := adoptable()
	switch {
	case err != nil:
		return err
	case !ok:
		if write := c.leave(ctx, pod, asked); write != nil {
			return write()
		}
		return nil
	}
	adopted, err := k8s.AdoptPod(ctx, c.Kubernetes, c.owner, pod)
	switch {
	case err != nil:
		return outage(err, "adopt Pod %s/%s", pod.Namespace, pod.Name)
	case adopted != nil:
		c.add(k8s.PodFact(adopted))
	case asked:
		c.add(disowned(pod))
	}
	return nil
}

// leave releases a Pod without a controller that nobody will ever count.
func (c *census) leave(ctx context.Context, pod *corev1.Pod, asked bool) func() error {
	if asked {
		c.add(disowned(pod))
	}
	if !k8s.Tracked(pod) {
		return nil
	}
	return func() error {
		if _, err := k8s.ReleasePod(ctx, c.Kubernetes, pod.Namespace, pod.Name, pod.UID, true); err != nil {
			return outage(err, "release Pod %s/%s, which nobody controls", pod.Namespace, pod.Name)
		}
		return nil
	}
}

func (c *census) add(fact job.PodFact) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.facts = append(c.facts, fact)
}

// ended takes a Pod that ended and was released.
func (c *census) ended(fact job.PodFact, asked bool) {
	switch {
	case asked:
		c.add(fact)
	case c.rebuild && fact.Index != nil && fact.Phase == corev1.PodFailed:
		if known, ok := c.failed[*fact.Index]; !ok || tellsMore(fact, known) {
			c.failed[*fact.Index] = fact
		}
	}
}

// tellsMore reports whether a failed Pod of an index is a later one than another.
func tellsMore(fact, other job.PodFact) bool {
	failures, known := fact.Failures+fact.Ignored, other.Failures+other.Ignored
	return failures > known || failures == known && fact.Finished.After(other.Finished)
}

func (c *census) list() protocol.PodList {
	facts := c.facts
	for _, fact := range c.failed {
		facts = append(facts, fact)
	}
	slices.SortFunc(facts, func(a, b job.PodFact) int { return strings.Compare(a.Name, b.Name) })
	list := protocol.PodList{Facts: facts, Attempts: c.attempts}
	if c.rebuild {
		list.Status = &c.owner.Status
	}
	return list
}

func disowned(pod *corev1.Pod) job.PodFact {
	fact := k8s.PodFact(pod)
	fact.Disowned = true
	return fact
}
