package bridge

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/schedule"
)

// look is what was found when a Job was looked at that may be stuck.
type look struct {
	uid types.UID
	// held is set if the run is stuck.
	held *hold
	// again is when to look again; earlier if the status counts other Pods by then.
	again time.Time
	pods  podCounts
}

// podCounts are the Pods that a Job's status counts.
type podCounts struct{ active, succeeded, failed int32 }

func podCountsOf(job *batchv1.Job) podCounts {
	return podCounts{job.Status.Active, job.Status.Succeeded, job.Status.Failed}
}

// inspectStarts queues the Jobs whose containers have had time to start and may not have, and forgets those that are not such any more.
func (c *controller) inspectStarts(now time.Time) {
	waiting := map[key]bool{}
	c.objects.eachJob(func(job *batchv1.Job) {
		if !mayBeStuck(job, c.stuckAfter(job), now) {
			return
		}
		item := jobKey(job)
		waiting[item] = true
		known := c.memory.looks.get(item)
		if known.uid != job.UID || known.pods != podCountsOf(job) || !now.Before(known.again) {
			c.sweep.Add(item.to(lookAtStart))
		}
	})
	c.memory.looks.forget(func(item key, _ look) bool { return !waiting[item] })
	c.objects.eachCronJob(func(cronJob *ostinatov1.CronJob) {
		if meta.IsStatusConditionTrue(cronJob.Status.Conditions, ostinatov1.ConditionRunStuck) {
			if runs, known := c.stuckRuns(cronJob); known && len(runs) == 0 {
				c.main.Add(cronJobKey(cronJob))
			}
		}
	})
}

// stuckAfter is spec.stuckAfterSeconds of the Job's CronJob, 0 where nothing says it.
func (c *controller) stuckAfter(job *batchv1.Job) time.Duration {
	cronJob := c.cronJobOf(job)
	if cronJob == nil {
		return 0
	}
	return time.Duration(ptr.Deref(cronJob.Spec.StuckAfterSeconds, 0)) * time.Second
}

// lookAtStart looks what keeps a Job's containers from starting, and tells of a run that is stuck once.
func (c *controller) lookAtStart(ctx context.Context, item key) error {
	item = item.to(follow)
	job, after, now := c.objects.job(item.NamespacedName), time.Duration(0), c.Clock.Now()
	if job != nil {
		after = c.stuckAfter(job)
	}
	if job == nil || !mayBeStuck(job, after, now) {
		return nil
	}
	pods, err := c.podsOf(ctx, job)
	if err != nil {
		return err
	}
	seen := view{job: job, pods: pods, after: after}
	held, ask, again := seen.judge(now)
	if ask {
		if seen.warnings, err = c.warningsOf(ctx, job, pods); err != nil {
			return err
		}
		seen.read = true
		held, _, again = seen.judge(now)
	}
	known := c.memory.looks.get(item)
	if known.uid != job.UID {
		known = look{}
	}
	if held != nil && known.held != nil && known.held.reason == held.reason {
		// The kubelet's words alternate.
		held = known.held
	}
	c.memory.looks.put(item, look{job.UID, held, now.Add(again), podCountsOf(job)})
	if owner, owned := c.objects.owner.cronJobOf(job); owned && (held != known.held || known.uid == "") {
		c.main.Add(ownerKey(job, owner))
	}
	if held != nil && held.loud() && (known.held == nil || !known.held.loud()) && !c.stuckKnown(job) {
		c.Logger.Warn("a run is stuck", "namespace", job.Namespace, "job", job.Name, "reason", held.reason, "since", held.since)
		c.warn(job, event.RunStuck, held.stuckAdvice(now))
	}
	return nil
}

// podsOf lists the Pods of a Job, which may be some of a Job with very many.
func (c *controller) podsOf(ctx context.Context, job *batchv1.Job) ([]*corev1.Pod, error) {
	selector, err := claim.Selector(job)
	if err != nil {
		return nil, err
	}
	if ptr.Deref(job.Spec.ManualSelector, false) {
		// The cache does not have it, and its Pods lack the label with the Job's UID.
		selector = labels.SelectorFromSet(labels.Set{names.WatchBucketLabel: names.WatchBucket(string(job.UID))})
	}
	list, err := c.Clients.Kubernetes.CoreV1().Pods(job.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: selector.String(), ResourceVersion: "0", Limit: maxLooked,
	})
	if err != nil {
		return nil, fmt.Errorf("list the Pods of Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if claim.IsControlledBy(&list.Items[i], job.Name, job.UID) {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

// maxLooked bounds a list.
const maxLooked = 500

// warningsOf lists the Warning Events about a Pod that waits, or about the Job if it has none.
func (c *controller) warningsOf(ctx context.Context, job *batchv1.Job, pods []*corev1.Pod) ([]corev1.Event, error) {
	uid := job.UID
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
			uid = pod.UID
			break
		}
	}
	list, err := c.Clients.Kubernetes.CoreV1().Events(job.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.uid": string(uid), "type": corev1.EventTypeWarning}.String(), Limit: maxLooked,
	})
	if err != nil {
		return nil, fmt.Errorf("list the Events about Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	return list.Items, nil
}

// judgementOf is what the metrics tell of a Job: it is stuck for a reason that Kubernetes names, and how long it may take.
func (c *controller) judgementOf(job *batchv1.Job) (known judgement) {
	looked := c.memory.looks.get(jobKey(job))
	known.stuck = looked.uid == job.UID && looked.held != nil && looked.held.loud()
	if cronJob := c.cronJobOf(job); cronJob != nil {
		known.expected = schedule.Expected(cronJob)
	}
	return known
}

// cronJobOf is the CronJob of a Job; nil where there is none.
func (c *controller) cronJobOf(job *batchv1.Job) *ostinatov1.CronJob {
	owner, owned := c.objects.owner.cronJobOf(job)
	if !owned {
		return nil
	}
	return c.objects.cronJob(ownerKey(job, owner))
}

// stuckKnown reports whether the condition of the Job's CronJob names the Job: an earlier leader has told.
func (c *controller) stuckKnown(job *batchv1.Job) bool {
	cronJob := c.cronJobOf(job)
	if cronJob == nil {
		return false
	}
	condition := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionRunStuck)
	if condition == nil || condition.Status != metav1.ConditionTrue {
		return false
	}
	run, named := schedule.ParseStuckRun(condition.Message)
	return named && run.Job == job.Name
}

// stuckRuns returns the runs of a CronJob that are stuck; known is false as long as there are none and one is to be looked at yet.
func (c *controller) stuckRuns(cronJob *ostinatov1.CronJob) (runs []stuckRun, known bool) {
	known = true
	for _, job := range c.objects.jobsOf(cronJob) {
		if !c.objects.owner.ours(job) || !mayBeStuck(job, c.stuckAfter(job), c.Clock.Now()) {
			continue
		}
		looked := c.memory.looks.get(jobKey(job))
		if looked.uid != job.UID {
			known = false
		} else if looked.held != nil {
			runs = append(runs, stuckRun{job.Name, *looked.held})
		}
	}
	return runs, known || len(runs) > 0
}
