package activities

import (
	"context"
	"sync"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// maxStrays is how many of the objects that a request names are looked for by themselves and are not what the request says.
// Lists judge the rest. A plan's objects are nearly always there; those of a forged request need not be.
const maxStrays = 10

// sought are the objects that a request names, by UID, as a live list has them. The list is read once maxStrays have strayed.
type sought[Found any] struct {
	strays atomic.Int32
	listed func() (map[string]Found, error)
}

func seek[Found any](list func() (map[string]Found, error)) *sought[Found] {
	return &sought[Found]{listed: sync.OnceValues(list)}
}

// strayed notes that an object is not what the request says.
func (s *sought[Found]) strayed() { s.strays.Add(1) }

// look returns an object as the list has it. A list judges once enough have strayed: then an object that is not there costs
// no request.
func (s *sought[Found]) look(uid string) (found Found, there, judged bool, err error) {
	if s.strays.Load() < maxStrays {
		return found, false, false, nil
	}
	objects, err := s.listed()
	if err != nil || objects == nil {
		return found, false, false, err
	}
	found, there = objects[uid]
	return found, there, true, nil
}

// soughtPods are the Pods that a request about a Job names.
type soughtPods struct {
	*sought[job.PodFact]
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
	return soughtPods{seek(func() (map[string]job.PodFact, error) { return a.podsNamed(ctx, owner, named) }), pace}
}

// podsNamed lists the Pods of the Job and returns the named ones: by its selector, and by the label of its watch, which a Pod
// keeps whose other labels were changed.
func (a *Activities) podsNamed(ctx context.Context, owner *batchv1.Job, named sets.Set[string]) (map[string]job.PodFact, error) {
	selector, err := claim.Selector(owner)
	if err != nil {
		return nil, outage(err, "list Pods of Job %s/%s", owner.Namespace, owner.Name)
	}
	watched := labels.SelectorFromSet(labels.Set{names.WatchBucketLabel: names.WatchBucket(string(owner.UID))})
	found := map[string]job.PodFact{}
	for _, by := range []labels.Selector{selector, watched} {
		err := a.eachPod(ctx, owner.Namespace, by, func(pod *corev1.Pod) func() error {
			if named.Has(string(pod.UID)) && a.owns(owner, pod) {
				found[string(pod.UID)] = k8s.PodFact(pod)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// refuted returns what a list says against the request: the Pod is not the Job's, or not in the phase if one is given. It is
// nil if the list says nothing against it, and if no list judges yet.
func (s soughtPods) refuted(uid string, phase corev1.PodPhase) (*job.Report, error) {
	fact, there, judged, err := s.look(uid)
	if err != nil {
		return nil, err
	}
	var report job.Report
	switch {
	case !judged:
		return nil, nil
	case !there:
		report = vanished(uid)
	case phase != "" && fact.Phase != phase:
		report = unexpected(fact)
	default:
		return nil, nil
	}
	return &report, nil
}

// act acts on a Pod, unless a list refutes the request. With wrote, the Pod was there to be written to: if it is gone by
// that, it has not strayed.
func (s soughtPods) act(
	ctx context.Context, uid string, phase corev1.PodPhase, act func() (report job.Report, wrote bool, err error),
) (job.Report, error) {
	refuted, err := s.refuted(uid, phase)
	if refuted != nil {
		return *refuted, nil
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
	*sought[struct{}]
	*Activities
	cronJob *ostinatov1.CronJob
}

func (a *Activities) seekJobs(ctx context.Context, cronJob *ostinatov1.CronJob) soughtJobs {
	return soughtJobs{Activities: a, cronJob: cronJob, sought: seek(func() (map[string]struct{}, error) {
		owned, err := a.searchJobs(ctx, cronJob)
		if err != nil || len(owned) == maxFound {
			// There may be more, which the search leaves out.
			return nil, err
		}
		found := make(map[string]struct{}, len(owned))
		for _, one := range owned {
			found[string(one.UID)] = struct{}{}
		}
		return found, nil
	})}
}

// find reads a Job of the CronJob; nil if it is gone or is not the CronJob's.
func (s soughtJobs) find(ctx context.Context, target schedule.Delete, fresh freshness) (*batchv1.Job, error) {
	_, there, judged, err := s.look(target.UID)
	if err != nil || judged && !there {
		return nil, err
	}
	found, err := s.controlledJob(ctx, s.cronJob, target.Name, target.UID, fresh)
	if found == nil && err == nil {
		s.strayed()
	}
	return found, err
}
