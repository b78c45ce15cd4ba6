package activities

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// maxStrays is how many of the objects that a request names are looked for by themselves and are not what the request says.
// Lists judge the rest. A plan's objects are nearly always there; those of a forged request need not be.
const maxStrays = 10

// sought are the objects that a request names, by UID, as a live list has them. The list is read once maxStrays have strayed; nil
// leaves all to a look at each.
type sought struct {
	strays atomic.Int32
	listed func() (sets.Set[string], error)
}

func seek(list func() (sets.Set[string], error)) *sought {
	return &sought{listed: sync.OnceValues(list)}
}

// strayed notes that an object is not what the request says.
func (s *sought) strayed() { s.strays.Add(1) }

// missing reports whether a list lacks the object. A list judges once enough have strayed: then an object that is not there costs
// no request.
func (s *sought) missing(uid string) (bool, error) {
	if s.strays.Load() < maxStrays {
		return false, nil
	}
	there, err := s.listed()
	return err == nil && there != nil && !there.Has(uid), err
}

// soughtPods are the Pods that a request about a Job names.
type soughtPods struct {
	*sought
	// pace is to be waited for ahead of each.
	pace func(context.Context) error
}

func (a *Activities) seekPods(ctx context.Context, owner *batchv1.Job, request protocol.JobRequest, pace func(context.Context) error) soughtPods {
	named := sets.New[string]()
	for _, target := range request.Deletes {
		named.Insert(target.UID)
	}
	for _, release := range request.Releases {
		named.Insert(release.UID)
	}
	return soughtPods{seek(func() (sets.Set[string], error) {
		found := sets.New[string]()
		return found, a.eachNamed(ctx, owner, named.Has, func(pod *corev1.Pod) func() error {
			if a.owns(owner, pod) {
				found.Insert(string(pod.UID))
			}
			return nil
		})
	}), pace}
}

// eachNamed calls look, as eachPod does, with every named Pod: it lists by the Job's selector, and by the label of its watch,
// which a Pod keeps whose other labels were changed.
func (a *Activities) eachNamed(ctx context.Context, owner *batchv1.Job, named func(uid string) bool, look func(*corev1.Pod) func() error) error {
	selector, err := claim.Selector(owner)
	if err != nil {
		return outage(err, "list Pods of Job %s/%s", owner.Namespace, owner.Name)
	}
	for _, by := range []labels.Selector{selector, watched(owner)} {
		err := a.eachPod(ctx, owner.Namespace, by, func(pod *corev1.Pod) func() error {
			if named(string(pod.UID)) {
				return look(pod)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lookByName calls look, as eachPod does, with the Pods that a list of what is left lacks: they are gone, were released, or have other
// labels. Once maxStrays are gone, lists judge the rest: a request may name any number of Pods that never were. Calls of look overlap.
func (a *Activities) lookByName(ctx context.Context, owner *batchv1.Job, pods []job.PodName, look func(*corev1.Pod) func() error) error {
	var mutex sync.Mutex
	rest := sets.New[string]()
	for _, named := range pods {
		rest.Insert(named.UID)
	}
	take := func(uid string) bool {
		mutex.Lock()
		defer mutex.Unlock()
		waits := rest.Has(uid)
		rest.Delete(uid)
		return waits
	}
	var strays atomic.Int32
	for some := range slices.Chunk(pods, maxStrays) {
		if strays.Load() >= maxStrays {
			break
		}
		_, err := gather(some, func(named job.PodName) (none struct{}, err error) {
			if !take(named.UID) {
				return none, nil
			}
			pod, err := k8s.GetPodLive(ctx, a.Kubernetes, owner.Namespace, named.Name, types.UID(named.UID))
			switch {
			case errors.Is(err, k8s.ErrGone):
				strays.Add(1)
				return none, nil
			case err != nil:
				return none, outage(err, "get Pod %s/%s", owner.Namespace, named.Name)
			}
			write := look(pod)
			if write == nil {
				return none, nil
			}
			return none, write()
		})
		if err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return a.eachNamed(ctx, owner, take, look)
}

// act acts on a Pod, unless a list lacks it. With wrote, the Pod was there to be written to: if it is gone by that, it has not
// strayed.
func (s soughtPods) act(ctx context.Context, uid string, act func() (report job.Report, wrote bool, err error)) (job.Report, error) {
	missing, err := s.missing(uid)
	if missing {
		return vanished(uid), nil
	}
	if err == nil {
		err = s.pace(ctx)
	}
	if err != nil {
		return unanswered(job.PodFailure{UID: uid}, err)
	}
	report, wrote, err := act()
	if !wrote && len(report.Vanished)+len(report.Unexpected) > 0 {
		s.strayed()
	}
	return report, err
}

// soughtJobs are the Jobs of a CronJob that a request names.
type soughtJobs struct {
	*sought
	*Activities
	cronJob *ostinatov1.CronJob
}

func (a *Activities) seekJobs(ctx context.Context, cronJob *ostinatov1.CronJob) soughtJobs {
	return soughtJobs{Activities: a, cronJob: cronJob, sought: seek(func() (sets.Set[string], error) {
		owned, err := a.searchJobs(ctx, cronJob)
		if err != nil || len(owned) == maxFound {
			// There may be more, which the search leaves out.
			return nil, err
		}
		found := sets.New[string]()
		for _, one := range owned {
			found.Insert(string(one.UID))
		}
		return found, nil
	})}
}

// find reads a Job of the CronJob; nil if it is gone or is not the CronJob's.
func (s soughtJobs) find(ctx context.Context, target schedule.Delete, fresh freshness) (*batchv1.Job, error) {
	if missing, err := s.missing(target.UID); err != nil || missing {
		return nil, err
	}
	found, err := s.controlledJob(ctx, s.cronJob, target.Name, target.UID, fresh)
	if found == nil && err == nil {
		s.strayed()
	}
	return found, err
}
