package activities

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// judgePatience bounds a dry run: a webhook that does not answer must not hold up the
// status.
const judgePatience = 2 * time.Second

// judgeTemplate asks the API server, without effect, for the Job of the next run. It
// answers Unknown where what it hears is not about the template.
func (a *Activities) judgeTemplate(ctx context.Context, cronJob *ostinatov1.CronJob, status *ostinatov1.CronJobStatus) *schedule.Judgement {
	if cronJob.DeletionTimestamp != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, judgePatience)
	defer cancel()
	now := a.Clock.Now().UTC()
	judgement := &schedule.Judgement{Generation: cronJob.Generation, At: now}
	scheduled := now.Truncate(time.Minute)
	if status != nil && status.NextScheduleTime != nil {
		scheduled = status.NextScheduleTime.Time
	}
	start := schedule.Start{Name: names.ScheduledJob(cronJob.Name, scheduled), Scheduled: scheduled}
	wanted := k8s.RenderJob(cronJob, start, a.jobWorkflow(cronJob.Namespace, start.Name))
	_, err := a.Kubernetes.BatchV1().Jobs(cronJob.Namespace).Create(ctx, wanted, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), usedUp(err):
	case aboutTheTemplate(err):
		judgement.Refusal = k8s.Bounded(err.Error())
	default:
		judgement.Unknown = true
	}
	return judgement
}

// usedUp reports whether only a quota stands against the Job: the API server checks it last, and it
// says how many Jobs there are now.
func usedUp(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// aboutTheTemplate reports whether the same Job would be refused at its time too. A terminating
// namespace and a webhook without dry runs don't say.
func aboutTheTemplate(err error) bool {
	refused := refusal(err)
	return refused != nil && refused.Reason != protocol.RefusedNamespaceTerminating &&
		!strings.Contains(err.Error(), "does not support dry run")
}
