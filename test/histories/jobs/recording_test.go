package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

// recording is what the API server has taken, in its order.
type recording struct {
	lives    []*life
	creates  []creation
	statuses []reported
	specs    []stretch
	// refused is why a status was not valid.
	refused []string
	// silent is when the API server left a third write, or a later one, without an answer.
	silent []time.Time
	lines  []string
}

// life is what became of a Pod. Times are zero for what has not happened.
type life struct {
	fact    job.PodFact
	created time.Time
	// late says that its caller had given up.
	late bool
	// ended is when it ended, and how, deleted when a delete was taken first, by Ostinato or by others.
	ended      time.Time
	phase      corev1.PodPhase
	exit       int32
	disrupted  bool
	deleted    time.Time
	byOstinato bool
	// released is when the tracking finalizer went, and removed says that this was before the Pod ended, so that it is not counted.
	released time.Time
	removed  bool
	gone     time.Time
}

// creation is a create: the Pods that could run then, and the Job.
type creation struct {
	at     time.Time
	pod    job.PodFact
	beside []corev1.Pod
	job    *batchv1.Job
}

// reported is a status that was written.
type reported struct {
	at     time.Time
	status batchv1.JobStatus
}

// stretch is a time during which the Job was as it is in it. stopped says that its annotation ends it.
type stretch struct {
	from, to time.Time
	spec     batchv1.JobSpec
	stopped  bool
}

func (r *recording) line(format string, arguments ...any) {
	r.lines = append(r.lines, time.Now().UTC().Format("15:04:05 ")+fmt.Sprintf(format, arguments...))
}

// of is the life of a Pod.
func (r *recording) of(pod *corev1.Pod) *life {
	i := slices.IndexFunc(r.lives, func(one *life) bool { return one.fact.UID == string(pod.UID) })
	return r.lives[i]
}

// created takes in a new Pod. One that is late is not wanted, and may be too much.
func (r *recording) created(pod *corev1.Pod, beside []corev1.Pod, owner *batchv1.Job, late bool) {
	one := &life{fact: k8s.PodFact(pod), created: time.Now().UTC(), late: late}
	r.lives = append(r.lives, one)
	if late {
		r.line("create %s, late", pod.UID)
		return
	}
	r.creates = append(r.creates, creation{one.created, one.fact, beside, owner})
	r.line("create %s", pod.UID)
}

func (r *recording) deleted(pod *corev1.Pod, byOstinato bool) {
	if one := r.of(pod); one.deleted.IsZero() {
		one.deleted, one.byOstinato = time.Now().UTC(), byOstinato
		r.line("delete %s", pod.UID)
	}
}

func (r *recording) ended(pod *corev1.Pod, exit int32, disrupted bool) {
	one := r.of(pod)
	one.ended, one.phase, one.exit, one.disrupted = time.Now().UTC(), pod.Status.Phase, exit, disrupted
	r.line("end %s %s %d", pod.UID, pod.Status.Phase, exit)
}

func (r *recording) released(pod *corev1.Pod) {
	one := r.of(pod)
	one.released, one.removed = time.Now().UTC(), k8s.PodFact(pod).Removed && !claim.Ended(pod)
	r.line("release %s", pod.UID)
}

func (r *recording) went(pod *corev1.Pod) {
	r.of(pod).gone = time.Now().UTC()
	r.line("gone %s", pod.UID)
}

// status takes one that differs from that before.
func (r *recording) status(owner *batchv1.Job) {
	if last := len(r.statuses) - 1; last >= 0 && apiequality.Semantic.DeepEqual(r.statuses[last].status, owner.Status) {
		return
	}
	r.statuses = append(r.statuses, reported{time.Now().UTC(), owner.Status})
	r.line("status active %d succeeded %d %s failed %d %s", owner.Status.Active, owner.Status.Succeeded, owner.Status.CompletedIndexes,
		owner.Status.Failed, strings.Join(conditions(owner.Status), ", "))
}

func conditions(status batchv1.JobStatus) (all []string) {
	for _, one := range status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s", one.Type, one.Status, one.Reason))
	}
	return all
}

func (r *recording) invalid(why string) {
	r.refused = append(r.refused, why)
	r.line("status refused: %s", why)
}

func (r *recording) edited(owner *batchv1.Job) {
	at := time.Now().UTC()
	if last := len(r.specs) - 1; last >= 0 {
		r.specs[last].to = at
	}
	stopped := job.StopOf(owner.Annotations) != nil
	if last := len(r.specs) - 1; stopped && !(last >= 0 && r.specs[last].stopped) {
		r.line("stopped")
	}
	r.specs = append(r.specs, stretch{from: at, to: at.Add(24 * time.Hour), spec: *owner.Spec.DeepCopy(), stopped: stopped})
	if line := fmt.Sprintf("generation %d", owner.Generation); !slices.ContainsFunc(r.lines, func(one string) bool { return strings.HasSuffix(one, line) }) {
		r.line("%s", line)
	}
}
