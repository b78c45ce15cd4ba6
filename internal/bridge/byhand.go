package bridge

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
)

// unexpectedReason is the reason of the Event on a CronJob that controls a Job which is
// under way and which it has not started (parity 1.6, step 3).
const unexpectedReason = "UnexpectedJob"

// byHand are the Jobs of a CronJob that somebody has made, as "kubectl create job --from"
// does of a native one: those under way that its status does not list and that have had
// time to get there, and those that have ended, of which its workflow may not know.
func byHand(cronJob *ostinatov1.CronJob, jobs []*batchv1.Job, now time.Time) (underWay, ended []*batchv1.Job) {
	for _, job := range jobs {
		listed := slices.ContainsFunc(cronJob.Status.Active, func(active corev1.ObjectReference) bool { return active.UID == job.UID })
		switch {
		case listed:
		case finished(job):
			if !ofARun(job) {
				ended = append(ended, job)
			}
		case now.Sub(job.CreationTimestamp.Time) >= closedGrace:
			underWay = append(underWay, job)
		}
	}
	return underWay, ended
}

// lookForHandmade announces Jobs of a native CronJob that are under way unexpectedly, once
// each, and tells its workflow of those that have ended, for the history limits.
func (c *controller) lookForHandmade(ctx context.Context, cronJob *ostinatov1.CronJob, known *cronJobMemory) error {
	if !k8s.IsNative(cronJob) {
		return nil
	}
	jobs := c.objects.jobsOf(cronJob)
	underWay, ended := byHand(cronJob, jobs, c.clock.Now())
	known.handmade = slices.DeleteFunc(known.handmade, func(uid handmade) bool {
		return !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return job.UID == uid.uid })
	})
	for _, job := range underWay {
		news := handmade{uid: job.UID}
		if slices.Contains(known.handmade, news) {
			continue
		}
		// The cache of CronJobs may be behind that of Jobs.
		live, err := k8s.GetCronJob(ctx, k8s.NativeCronJobs(c.clients.Kubernetes), cronJob.Namespace, cronJob.Name, cronJob.UID)
		if err != nil {
			return err
		}
		if confirmed, _ := byHand(live, []*batchv1.Job{job}, c.clock.Now()); len(confirmed) > 0 {
			known.handmade = append(known.handmade, news)
			c.recorder.Event(eventReference(cronJob), corev1.EventTypeWarning, unexpectedReason,
				"Saw a job that the controller did not create or forgot: "+job.Name)
		}
	}
	for _, job := range ended {
		news := handmade{uid: job.UID, ended: true}
		if slices.Contains(known.handmade, news) {
			continue
		}
		run := closing{name: job.Name, uid: string(job.UID), result: resultOf(job, string(job.UID))}
		found, err := c.temporal.Signal(ctx, cronJobReference(cronJob).CronJobWorkflowID(c.messages.cluster), c.messages.jobClosed(cronJob, run))
		if err != nil {
			return err
		}
		c.metrics.sent("job-closed", foundLabel(found))
		known.handmade = append(known.handmade, news)
	}
	return nil
}

// handmade is a Job made by hand of which was told, as under way or as ended.
type handmade struct {
	uid   types.UID
	ended bool
}
