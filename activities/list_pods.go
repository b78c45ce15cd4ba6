package activities

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// ListPods lists the Pods of a Job that can still run, were not released, or are asked for, in the order of their names. Package
// claim decides what is written to a Pod: matching Pods without a controller are adopted, Pods that PodWatch can't see get its
// label, and Pods that are no longer the Job's are let go and listed as disowned. Nothing else is said about the Pods of others.
//
// A Job may have had any number of Pods. Those that ended and were released have lost PodWatch's label, so only a rebuild reads
// them. The list is read in pages, and only facts are kept.
func (a *Activities) ListPods(ctx context.Context, request protocol.ListPodsRequest) (protocol.PodList, error) {
	if err := invalidRequest(bounded(list{"undecided", len(request.Undecided), job.MaxStatePods})); err != nil {
		return protocol.PodList{}, err
	}
	var census *census
	for {
		owner, result, done, err := a.jobFor(ctx, request.Job, live)
		if err != nil || done {
			return protocol.PodList{Gone: result.Gone, Foreign: result.Foreign}, err
		}
		// An attempt that was given up may have counted and released Pods since the Job was read. A rebuild would find them nowhere.
		if census != nil && owner.ResourceVersion == census.owner.ResourceVersion {
			return census.list(), nil
		}
		census, err = a.takeCensus(ctx, owner, request)
		if err != nil {
			return protocol.PodList{}, err
		}
		if !request.Rebuild {
			return census.list(), nil
		}
	}
}

// takeCensus looks at the Pods of a Job.
func (a *Activities) takeCensus(ctx context.Context, owner *batchv1.Job, request protocol.ListPodsRequest) (*census, error) {
	selector, err := claim.Selector(owner)
	if err != nil {
		return nil, outage(err, "list Pods of Job %s/%s", request.Job.Namespace, request.Job.Name)
	}
	census := &census{
		Activities: a, owner: owner, rebuild: request.Rebuild,
		undecided: sets.New[string](), failed: map[int32]job.PodFact{},
	}
	for _, pod := range request.Undecided {
		census.undecided.Insert(pod.UID)
	}
	if !request.Rebuild {
		selector = left(owner, selector)
	}
	look := census.look(ctx)
	if err := a.eachPod(ctx, request.Job.Namespace, selector, look); err != nil {
		return nil, err
	}
	unmet := slices.DeleteFunc(slices.Clone(request.Undecided), func(pod job.PodName) bool { return !census.undecided.Has(pod.UID) })
	return census, a.lookByName(ctx, owner, unmet, look)
}

// watched selects the Pods that carry PodWatch's label of the Job.
func watched(owner *batchv1.Job) labels.Selector {
	return labels.SelectorFromSet(labels.Set{names.WatchBucketLabel: names.WatchBucket(string(owner.UID))})
}

// left selects those of the Job's Pods that were not released.
func left(owner *batchv1.Job, selector labels.Selector) labels.Selector {
	requirements, _ := watched(owner).Requirements()
	return selector.Add(requirements...)
}

// met notes that a Pod was met. It reports whether the Pod's end is asked for.
func (c *census) met(uid string) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	asked := c.undecided.Has(uid)
	c.undecided.Delete(uid)
	return asked
}

// census takes stock of the Pods of a Job.
type census struct {
	*Activities
	owner   *batchv1.Job
	rebuild bool

	mutex sync.Mutex
	// undecided are the UIDs whose Pods were not met yet.
	undecided sets.Set[string]
	facts     []job.PodFact
	// failed is the Pod that tells most of the failures of an index, of those that were released.
	failed   map[int32]job.PodFact
	attempts int64
}

// look takes a Pod, and returns what is to be written to it.
func (c *census) look(ctx context.Context) func(*corev1.Pod) func() error {
	// The Job may have been deleted since it was read (parity 2.13).
	again := sync.OnceValues(func() (claim.Owner, error) {
		owner := c.Activities.owner(c.owner)
		var err error
		if owner.Job, err = k8s.GetJob(ctx, c.Kubernetes, owner.Namespace, owner.Name, owner.UID); err != nil && !errors.Is(err, k8s.ErrGone) {
			return owner, outage(err, "get Job %s/%s, which is to adopt Pods", owner.Namespace, owner.Name)
		}
		return owner, nil
	})
	return func(pod *corev1.Pod) func() error {
		asked := c.met(string(pod.UID))
		switch verdict := claim.Decide(pod, c.Activities.owner(c.owner)); verdict {
		case claim.Adopt:
			return func() error {
				owner, err := again()
				if err != nil {
					return err
				}
				return c.carryOut(ctx, claim.Decide(pod, owner), pod, asked)
			}
		case claim.Keep, claim.Foreign:
			c.take(verdict, pod, pod, asked)
		default:
			return func() error { return c.carryOut(ctx, verdict, pod, asked) }
		}
		return nil
	}
}

// carryOut writes to the Pod what the verdict asks for, and lists it.
func (c *census) carryOut(ctx context.Context, verdict claim.Verdict, pod *corev1.Pod, asked bool) error {
	stored, err := c.writeVerdict(ctx, verdict, c.owner, pod)
	if err == nil {
		c.take(verdict, pod, stored, asked)
	}
	return err
}

// writeVerdict writes to the Pod what the verdict asks for. It returns the Pod then, nil if it is gone or has changed.
func (a *Activities) writeVerdict(ctx context.Context, verdict claim.Verdict, owner *batchv1.Job, pod *corev1.Pod) (*corev1.Pod, error) {
	stored, err := write(ctx, func(ctx context.Context) (*corev1.Pod, error) {
		return k8s.CarryOut(ctx, a.Kubernetes, verdict, a.owner(owner), pod)
	})
	if err != nil {
		return nil, outage(err, "%v Pod %s/%s", verdict, pod.Namespace, pod.Name)
	}
	return stored, nil
}

// take lists a Pod after what the verdict asks for was written; stored is the Pod then, nil if it is gone or has changed.
func (c *census) take(verdict claim.Verdict, pod, stored *corev1.Pod, asked bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case verdict.Own():
		c.own(pod, asked)
	case verdict == claim.Adopt && stored != nil:
		c.own(stored, asked)
	case verdict == claim.Foreign && asked:
		c.facts = append(c.facts, job.PodFact{UID: string(pod.UID), Disowned: true})
	case verdict == claim.Disown, asked:
		fact := k8s.PodFact(pod)
		fact.Disowned = true
		c.facts = append(c.facts, fact)
	}
}

// own takes a Pod that is the Job's.
func (c *census) own(pod *corev1.Pod, asked bool) {
	fact := k8s.PodFact(pod)
	c.attempts = max(c.attempts, fact.Attempt)
	switch {
	case !fact.Ended() || fact.Tracked || asked:
		c.facts = append(c.facts, fact)
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
	facts := slices.AppendSeq(c.facts, maps.Values(c.failed))
	facts = job.Shortened(facts, job.SpecOf(c.owner))
	slices.SortFunc(facts, func(a, b job.PodFact) int { return strings.Compare(a.Name, b.Name) })
	list := protocol.PodList{List: job.List{Facts: facts, Attempts: c.attempts, Counted: k8s.CountedPods(c.owner)}}
	if c.rebuild {
		list.Status, list.Spec = &c.owner.Status, ptr.To(c.specOf(c.owner))
	}
	return list
}

// podPage is how many Pods are listed by one request: a Job may have 100,000.
const podPage = 500

// eachPod calls look with every Pod of a namespace, or of all, that matches the selector. A Pod for which look returns
// a function is written to: these functions are called some at a time, until one fails.
func (a *Activities) eachPod(ctx context.Context, namespace string, selector labels.Selector, look func(*corev1.Pod) (write func() error)) error {
	writes, listing := errgroup.WithContext(ctx)
	writes.SetLimit(parallelRequests)
	err := k8s.EachPod(listing, a.Kubernetes, namespace, selector, podPage, func(pod *corev1.Pod) error {
		if write := look(pod); write != nil {
			writes.Go(write)
		}
		return listing.Err()
	})
	if failed := writes.Wait(); failed != nil {
		return failed
	}
	if err != nil {
		return outage(err, "look at Pods")
	}
	return nil
}
